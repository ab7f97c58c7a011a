/** A trainer to be killed: runs one stuck rollout. Arguments: agent, workspace, file for the agent's process ids. */
import { RunnerConfig } from '../../../trainer/protocol/config.ts';
import { Runner, resolveAgent } from '../../../trainer/runner/runner.ts';
import { openStore } from '../../../trainer/store/store.ts';

const [agent, workspace, pids] = process.argv.slice(2) as [string, string, string];
const store = openStore(':memory:');
const runner = new Runner({
  store, run_id: 'ru-000000000002', agent: resolveAgent(agent, workspace), gateway: { url: 'http://127.0.0.1:9', key: 'k' },
  config: RunnerConfig.parse({ n_runners: 2 }), workspace, modelName: () => 'tiny',
});
await runner.start();
store.enqueueRollouts([{ run_id: 'ru-000000000002', input: { do: 'hang', pids } }]);
