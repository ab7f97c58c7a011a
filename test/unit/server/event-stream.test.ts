import assert from 'node:assert/strict';
import type { TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { EventStream } from '../../../trainer/server/event-stream.ts';

const run = (run_id: string, status: Run['status'] = 'running'): TrainerEvent => ({
  type: 'run', run: { run_id, kind: 'dev', status, phase: 'rollouts', agent: 'a.py', config: {}, create_time: 0, end_time: null, error: null, result: null },
});
const span = (padding = ''): Span => ({
  rollout_id: 'ro-1', attempt_id: 'at-1', sequence_id: 1, trace_id: 't', span_id: 's', parent_id: null, name: 'x', status: { status_code: 'OK' },
  attributes: { padding }, events: [], start_time: 0, end_time: 1, resource: { attributes: {} },
});
const spans = (run_id: string, padding = ''): TrainerEvent => ({ type: 'spans', run_id, spans: [span(padding)] });
const notice = (run_id: string, message: string): TrainerEvent => ({ type: 'notice', run_id, level: 'info', message });

/** A client that takes what was sent only when told to. */
class SlowClient {
  readonly events: TrainerEvent[] = [];
  readonly stream = new EventStream((text, taken) => {
    this.events.push((JSON.parse(text) as { event: TrainerEvent }).event);
    this.#waiting.push(taken);
  });
  readonly #waiting: (() => void)[] = [];

  /** Takes all that is there, and what follows from that. */
  read(): void {
    for (let taken = this.#waiting.shift(); taken; taken = this.#waiting.shift()) taken();
  }
}

const hugePadding = 'x'.repeat(5_000_000);

describe('event stream of a client', () => {
  it('sends nothing before a subscription, then what the filter lets through', () => {
    const { stream, events } = new SlowClient();
    stream.push(run('a'));
    assert.equal(events.length, 0);
    stream.subscribe({ run_id: 'a', types: ['run', 'spans'] });
    for (const event of [run('a'), run('b'), spans('a'), spans('b'), notice('a', 'hm')]) stream.push(event);
    assert.deepEqual(events.map((event) => event.type), ['run', 'spans']);
    stream.subscribe({});
    for (const event of [run('b'), notice('c', 'hm')]) stream.push(event);
    assert.equal(events.length, 4);
  });

  it('to a slow client sends the latest state only, and tells how many spans it did not send', () => {
    const client = new SlowClient();
    client.stream.subscribe({});
    client.stream.push(spans('a', hugePadding));
    for (let index = 0; index < 100; index++) {
      client.stream.push(run('a'));
      client.stream.push(spans('a'));
    }
    client.stream.push(run('a', 'succeeded'));
    client.stream.push(notice('a', 'first'));
    client.stream.push(notice('a', 'second'));
    assert.equal(client.events.length, 1);
    client.read();
    const [, state, first, second, told, ...rest] = client.events;
    assert.deepEqual(state, run('a', 'succeeded'));
    assert.deepEqual([first, second], [notice('a', 'first'), notice('a', 'second')]);
    assert.ok(told?.type === 'notice' && told.run_id === 'a' && told.level === 'warning');
    assert.match(told.message, /100 spans and 0 other updates/);
    assert.deepEqual(rest, []);
    client.stream.push(spans('a'));
    assert.equal(client.events.length, 6, 'events flow again');
  });

  it('holds back a bounded number of events, and never drops the state of a run', () => {
    const client = new SlowClient();
    client.stream.subscribe({});
    client.stream.push(spans('a', hugePadding));
    client.stream.push(run('a', 'failed'));
    for (let index = 0; index < 5000; index++) client.stream.push(notice('a', String(index)));
    client.read();
    assert.equal(client.events.length, 1 + 1000 + 1);
    assert.deepEqual(client.events[1], run('a', 'failed'));
    const last = client.events.at(-1);
    assert.ok(last?.type === 'notice');
    assert.match(last.message, /0 spans and 4001 other updates/);
  });

  it('does not flood a client that is still slow when held events are released', () => {
    const client = new SlowClient();
    client.stream.subscribe({});
    client.stream.push(spans('a', hugePadding));
    for (const id of ['b', 'c']) client.stream.push(notice(id, hugePadding));
    client.read();
    assert.deepEqual(client.events.map((event) => event.type), ['spans', 'notice', 'notice'], 'each only after the one before was read');
  });
});
