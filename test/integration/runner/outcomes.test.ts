import assert from 'node:assert/strict';
import { rewardReason } from '../../../trainer/adapter/rewards.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { refuse, say } from '../../fixtures/openai-server.ts';
import { bench, label, languages, type Bench } from './harness.ts';

/** What each way of ending comes to: outcome, reward, and what the error says. */
const expected: Record<string, [outcome: string, reward: number | null, error?: RegExp]> = {
  reward: ['scored', 0.5],
  integer: ['scored', 1],
  nothing: ['unscored', null, /returned no reward and emitted none/],
  emit: ['scored', 0.25],
  emit_and_return: ['scored', 0.75],
  emit_reason: ['scored', 0.25],
  reason: ['scored', 0.5],
  reason_by_name: ['scored', 0.5],
  reason_without_reward: ['agent_error', null, /returned (dict|object) \{.*no idea.*\} where its reward/],
  emit_nan: ['agent_error', null, /reward is a finite number.*behaviours/],
  boolean: ['agent_error', null, /returned bool(ean)? [Tt]rue where its reward, a finite number, was expected: return (1\.0 or 0\.0|1 or 0) instead of [Tt]rue\.$/],
  nan: ['agent_error', null, /returned nan where/i],
  text: ['agent_error', null, /returned str(ing)? ['"]good['"] where/],
  raise: ['agent_error', null, /^(ValueError|RangeError): bad tool \(.*behaviours\.(py|ts):\d+\)$/],
  exit: ['agent_error', null, /worker died during the attempt: exit code 3/],
  killed: ['agent_error', null, /worker died during the attempt: signal SIGKILL/],
  hang: ['timeout', null, /stopped by its time limit/],
  garbage_stdout: ['scored', 0.5],
  garbage_channel: ['agent_error', null, /something else than messages.*garbage/],
  huge: ['scored', 0.5],
  message: ['scored', 4],
  call: ['scored', 1],
};

for (const { language, file } of languages) {
  describe(`ways an attempt ends (${language})`, function () {
    this.timeout(60_000);
    let desk: Bench;
    const ended = new Map<string, AttemptedRollout>();
    const of = (name: string) => ended.get(name)!;
    const logs = (name: string) => desk.store.getLogs(of(name).rollout_id);

    before(async () => {
      desk = await bench();
      await desk.runner(`${file}:agent`, { n_runners: 3 });
      // All at once on three workers: the ones that fail must not touch the others.
      const names = Object.keys(expected);
      const hang = names.indexOf('hang');
      const ids = names.map((name, index) => desk.enqueue([{ do: name, x: 2 }], index === hang ? { timeout_seconds: 3 } : {})[0]!);
      const rollouts = await desk.store.waitForRollouts(ids);
      names.forEach((name, index) => ended.set(name, rollouts[index]!));
    });
    after(() => desk.close());

    for (const [name, [outcome, reward, error]] of Object.entries(expected)) {
      it(`${name} → ${outcome}`, () => {
        const attempt = of(name).attempt!;
        assert.deepEqual([attempt.outcome, attempt.reward], [outcome, reward], attempt.error ?? undefined);
        if (error) assert.match(attempt.error!, error);
        else assert.equal(attempt.error, null);
      });
    }

    it('keeps what the agent printed with its attempt, and only there', () => {
      for (const name of Object.keys(expected)) {
        const { stdout, stderr } = logs(name);
        assert.equal(stdout.match(/working on/g)?.length, 1, `attempt ${name} printed: ${stdout.slice(0, 200)}`);
        assert.ok(stdout.startsWith(`working on ${name} ${of(name).attempt!.attempt_id}\n`), name);
        assert.match(stderr, /^to stderr\n/);
      }
    });

    it('bounds the logs and says so', () => {
      const { stdout } = logs('huge');
      assert.ok(stdout.length < 300_000 && stdout.length >= 256 * 1024);
      assert.match(stdout, /The rest of stdout is not kept/);
    });

    it('warns when a reward is both emitted and returned', () => {
      assert.match(logs('emit_and_return').stderr, /emitted a reward and returned another.*0\.75, counts/);
      for (const name of ['reward', 'emit']) assert.doesNotMatch(logs(name).stderr, /returned another/);
    });

    it('writes the full error to stderr and into the spans of the steps it passed', () => {
      assert.match(logs('raise').stderr, /bad tool[^]*behaviours|behaviours[^]*bad tool/);
      const spans = desk.store.listSpans(of('raise').rollout_id);
      assert.deepEqual(spans.map((span) => [label(span), span.status.status_code]), [['agent', 'ERROR'], ['step', 'ERROR']]);
      assert.equal(spans[1]!.parent_id, spans[0]!.span_id);
      assert.match(String(spans[1]!.events[0]!.attributes['exception.stacktrace']), /behaviours\.(py|ts)/);
    });

    it('shows where an attempt hung', () => {
      const spans = desk.store.listSpans(of('hang').rollout_id);
      assert.deepEqual(spans.map(label), ['agent', 'stuck']);
      for (const span of spans) assert.match(span.status.description!, /did not end: The attempt was stopped by its time limit/);
    });

    it('records steps, messages and rewards in order, with input, output and place', () => {
      const spans = desk.store.listSpans(of('message').rollout_id);
      assert.deepEqual(spans.map(label), ['agent', 'agentlightning.message', 'double', 'agentlightning.annotation']);
      const [root, message, double, reward] = spans;
      assert.equal(message!.attributes[attr.messageBody], 'a note');
      assert.equal(double!.parent_id, root!.span_id);
      assert.equal(double!.attributes[attr.operationOutput], '4');
      assert.match(String(double!.attributes[attr.operationInput]), /2/);
      assert.equal(double!.attributes[attr.codeFile], file);
      assert.equal(double!.attributes[attr.codeFunction], 'double');
      assert.ok(Number(double!.attributes[attr.codeLine]) > 1);
      assert.equal(reward!.attributes[attr.rewardValue], 4);
    });

    it('puts the primary reward first', () => {
      const last = desk.store.listSpans(of('emit').rollout_id).at(-1)!;
      assert.equal(last.attributes[attr.rewardName], 'main');
      assert.equal(last.attributes['agentlightning.reward.1.name'], 'other');
    });

    it('keeps the reason of a reward with it', () => {
      const reasonOf = (name: string) => rewardReason(desk.store.listSpans(of(name).rollout_id));
      assert.deepEqual(['emit_reason', 'reason', 'reason_by_name', 'reward', 'emit'].map(reasonOf), ['a quarter\nis right', 'half is right', 'half is right', null, null]);
    });

    it('attributes LLM calls to the step that made them', () => {
      const spans = desk.store.listSpans(of('call').rollout_id);
      const parents = spans.filter((span) => span.attributes[attr.operationName] === 'chat').map((span) => label(spans.find(({ span_id }) => span_id === span.parent_id)!));
      assert.deepEqual(parents, ['write', 'agent']);
      assert.equal(new Set(spans.map((span) => span.trace_id)).size, 1);
    });

    it('sends the trace to the gateway, and the gateway to nobody else', () => {
      const sent = desk.server.requests.filter(({ path }) => path.endsWith('/chat/completions'));
      assert.equal(sent.length, 2);
      for (const { headers } of sent) assert.equal(headers.traceparent, undefined);
    });

    it('tells an overflowing context from a failing model and from the agent itself', async () => {
      const fail = async (...answers: Parameters<typeof desk.server.next>) => {
        desk.server.next(...answers);
        const [rollout] = await desk.roll([{ do: 'call_badly', text: 'x' }]);
        return rollout!.attempt!;
      };
      const overflow = await fail(refuse(400, 'This model has a context length of 10 tokens.', { code: 'context_length_exceeded' }));
      assert.equal(overflow.outcome, 'context_overflow', overflow.error!);
      const down = await fail(refuse(503, 'overloaded'), refuse(503, 'overloaded'), refuse(503, 'overloaded'));
      assert.equal(down.outcome, 'infra_error');
      assert.match(down.error!, /HTTP 503/);
      const refused = await fail(refuse(400, 'no such parameter'));
      assert.equal(refused.outcome, 'agent_error');
      assert.equal((await fail(say('four'))).reward, 4);
    });
  });
}
