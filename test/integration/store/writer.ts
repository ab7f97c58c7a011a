/** Writes to a store without end and prints one JSON line per write, after the call has returned. */
import type { Driver } from '../../../trainer/store/database.ts';
import { openStore } from '../../../trainer/store/store.ts';

export type Acknowledged =
  | { wrote: 'rollout' | 'reward'; rollout_id: string }
  | { wrote: 'spans'; rollout_id: string; span_ids: string[] }
  | { wrote: 'log'; rollout_id: string; text: string }
  | { wrote: 'resources'; resources_id: string };

const [file, driver] = process.argv.slice(2) as [string, Driver];
const store = openStore(file, { driver });
const acknowledge = (line: Acknowledged) => process.stdout.write(`${JSON.stringify(line)}\n`);

for (let round = 0; ; round++) {
  const [rollout] = store.enqueueRollouts([{ input: { round } }]);
  const { rollout_id } = rollout!;
  acknowledge({ wrote: 'rollout', rollout_id });
  const { attempt_id } = store.dequeueRollout('writer')!.attempt!;
  for (let batch = 0; batch < 3; batch++) {
    const spans = Array.from({ length: 1 + batch * 20 }, (_, index) => ({
      rollout_id, attempt_id, sequence_id: store.nextSequenceId(rollout_id, attempt_id), trace_id: 'f'.repeat(32), span_id: `${batch}-${index}`, parent_id: null, name: 'chat',
      status: { status_code: 'OK' as const }, attributes: { ids: Array.from({ length: 100 }, (_, id) => id) }, events: [], start_time: 1, end_time: 2, resource: { attributes: {} },
    }));
    store.addSpans(spans);
    acknowledge({ wrote: 'spans', rollout_id, span_ids: spans.map(({ span_id }) => span_id) });
  }
  store.appendLog(rollout_id, attempt_id, 'stdout', `round ${round}\n`);
  acknowledge({ wrote: 'log', rollout_id, text: `round ${round}\n` });
  store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward: round });
  acknowledge({ wrote: 'reward', rollout_id });
  acknowledge({ wrote: 'resources', resources_id: store.addResources({ llm: { resource_type: 'llm', endpoint: 'http://127.0.0.1', model: String(round) } }).resources_id });
}
