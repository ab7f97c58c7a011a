/** A trainer of its own process, to be killed: `training-process.ts WORKSPACE` trains agent-trainer.json and prints a line per step. */
import { openTrainer } from '../../../trainer/server/trainer.ts';

const trainer = await openTrainer({ workspace: process.argv[2]! });
trainer.store.onEvent((event) => {
  if (event.type === 'step') console.log(`step ${event.metrics.step}`);
});
const { run_id } = trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' });
console.log(`run ${run_id}`);
const run = await trainer.runs.wait(run_id);
console.log(`ended ${run.status} ${run.error ?? ''}`);
await trainer.close();
