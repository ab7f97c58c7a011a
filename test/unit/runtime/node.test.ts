import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { placeOf } from '../../../runtime/node/call-site.ts';
import { emitMessage, emitReward, operation, rollout } from '../../../runtime/node/index.ts';
import { jsonText } from '../../../runtime/node/json-text.ts';
import { resultOf, splitReason } from '../../../runtime/node/run-attempt.ts';
import { RecordedOperations } from '../../../runtime/node/recorded.ts';
import { ActiveSpan } from '../../../runtime/node/span.ts';
import { state } from '../../../runtime/node/state.ts';
import type { WireSpan, WorkerMessage } from '../../../runtime/node/types.ts';
import { WorkerMessage as RunnerSide } from '../../../trainer/runner/messages.ts';

describe('runtime/node outside the trainer', () => {
  it('leaves agents and steps ordinary functions', async () => {
    const add = operation('add', (a: number, b: number) => a + b);
    const agent = rollout(async (task: number) => add(task, 1));
    assert.equal(await agent(2), 3);
    class Solver {
      factor = 3;
      @rollout run(task: number): number { return this.times(task); }
      @operation('times') times(x: number): number { return this.factor * x; }
    }
    assert.equal(new Solver().run(2), 6);
    emitReward(1);
    emitMessage('nobody listens');
    assert.throws(() => operation('fails', () => { throw new RangeError('own'); })(), { name: 'RangeError', message: 'own' });
  });

  it('refuses what is no function or a legacy decorator', () => {
    assert.throws(() => rollout(1 as never), TypeError);
    assert.throws(() => rollout((() => 1) as never, 'key' as never), /experimentalDecorators/);
  });
});

describe('runtime/node in an attempt', () => {
  let sent: WorkerMessage[];
  let root: ActiveSpan;
  beforeEach(() => {
    sent = [];
    root = new ActiveSpan({ rollout_id: 'ro', attempt_id: 'at', trace_id: 'f'.repeat(32), send: (message) => sent.push(message), recorded: new RecordedOperations() }, null, 'root', {});
  });
  const ended = (): WireSpan[] => sent.flatMap((message) => (message.type === 'end' ? [message.span] : []));
  const inside = <T>(body: () => T): T => state.spans.run(root, body);

  it('nests steps by what awaits them, also when they run at the same time', async () => {
    const inner = operation('inner', async (x: number) => x);
    const outer = operation('outer', async (x: number) => {
      await Promise.resolve();
      return inner(x);
    });
    await inside(() => Promise.all([outer(1), outer(2)]));
    const spans = ended();
    for (const x of [1, 2]) {
      const named = (name: string) => spans.find(({ attributes }) => attributes['agentlightning.operation.name'] === name && attributes['agentlightning.operation.input'] === String(x))!;
      assert.equal(named('inner').parent_id, named('outer').span_id);
      assert.equal(named('outer').parent_id, root.span_id);
    }
  });

  it('sends what the runner understands', () => {
    inside(() => {
      operation('step', (...args: unknown[]) => args.length)(1, 'b', undefined);
      emitReward({ a: 1, b: 2 }, { primaryKey: 'b' });
      emitMessage('m');
      assert.throws(() => operation('bad', () => { throw new Error('x'); })());
    });
    for (const message of sent) RunnerSide.parse(JSON.parse(JSON.stringify(message)));
    assert.deepEqual(sent.map(({ type }) => type), ['begin', 'end', 'end', 'end', 'begin', 'end']);
    assert.equal(ended()[1]!.attributes['agentlightning.reward.0.name'], 'b');
    assert.equal(ended()[3]!.status.status_code, 'ERROR');
  });

  it('refuses rewards that are no finite numbers', () => {
    inside(() => {
      for (const value of [Number.NaN, Infinity, true, '1', null, undefined, {}]) assert.throws(() => emitReward(value as number), TypeError);
      assert.throws(() => emitReward(true as never), /got boolean true: use 1 or 0$/);
      assert.throws(() => emitReward(1, { reason: 2 as never }), /a reason is a string, got number/);
      assert.throws(() => emitReward({ a: 1 }, { primaryKey: 'b' }), /primary key b is not among \[a\]/);
    });
    assert.equal(sent.length, 0);
  });
});

describe('runtime/node details', () => {
  it('reads a result strictly', () => {
    assert.deepEqual([0.5, 0, undefined, null].map((value) => resultOf(value).kind), ['reward', 'reward', 'none', 'none']);
    for (const value of [Number.NaN, -Infinity, true, '1', 1n, {}, [1]]) assert.equal(resultOf(value).kind, 'invalid');
  });

  it('takes a reward and its reason apart, and nothing else', () => {
    assert.deepEqual(splitReason({ reward: 0.5, reason: 'why' }), { reward: 0.5, reason: 'why' });
    for (const value of [{ reward: 0.5 }, { reward: 0.5, reason: null }]) assert.deepEqual(splitReason(value), { reward: 0.5 });
    for (const value of [0.5, null, undefined, 'x', [0.5, 'why'], { reason: 'why' }, { reward: 1, reason: 2 }, { reward: 1, other: 2 }]) assert.deepEqual(splitReason(value), { reward: value });
  });

  it('writes JSON for anything, bounded', () => {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle.self = cycle;
    const shared = { s: 1 };
    assert.equal(jsonText(cycle), '{"a":1,"self":"[circular]"}');
    assert.equal(jsonText([shared, shared, { shared }]), '[{"s":1},{"s":1},{"shared":{"s":1}}]');
    assert.equal(jsonText([10n, Number.NaN, function f() {}, new Error('x')]), '["10","NaN","[function f]","Error: x"]');
    assert.equal(jsonText(undefined), 'null');
    assert.match(jsonText({ toJSON() { throw new Error('no'); } }), /^"\[no\]"$/);
    const long = JSON.parse(jsonText('y'.repeat(100_000))) as string;
    assert.ok(long.length < 40_000 && long.endsWith('(100002 characters)'));
  });

  it('finds file and line in stack lines', () => {
    assert.deepEqual(placeOf('    at f (file:///a%20b/c.ts:3:1)'), { file: fileURLToPath('file:///a%20b/c.ts'), line: 3 });
    assert.deepEqual(placeOf('    at async Promise.all (/x/c (1).ts:4:2)')?.line, 4);
    assert.deepEqual(placeOf('    at /x/c.ts:5:2'), { file: '/x/c.ts', line: 5 });
    assert.equal(placeOf('    at node:internal/main:1:1'), null);
    assert.equal(placeOf('    at Array.map (<anonymous>)'), null);
  });
});
