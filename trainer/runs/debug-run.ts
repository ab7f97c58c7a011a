import { loadTasks } from '../datasets/tasks.ts';
import { deriveSeed } from '../algorithms/seeds.ts';
import { summarise } from '../algorithms/rollouts.ts';
import { scoreOf } from '../evaluation/compare.ts';
import { RunnerConfig } from '../protocol/config.ts';
import type { DebugLaunch, DebugRequest } from '../protocol/endpoints.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { DevResult } from '../protocol/run.ts';
import { debugAttempt } from '../runner/debug-attempt.ts';
import { agentName } from './agents.ts';
import { withBackend, type EditorModels } from './backends.ts';
import { modelOf, requireAgentAndData, withoutKey, withoutSecret } from './dev-run.ts';
import type { Prepared } from './prepared.ts';
import { setPhase, type Session } from './session.ts';

/** A dry run of one task in a worker that a debugger starts. `launch` resolves when it is awaited; it never rejects. Throws TrainerError on a wrong request. */
export async function prepareDebug(request: DebugRequest, workspace: string, editor?: EditorModels): Promise<{ prepared: Prepared; launch: Promise<DebugLaunch> }> {
  const { agent, data, config } = requireAgentAndData({ kind: 'dev', ...request }, workspace);
  const model = modelOf({ ...request, limit: 1 }, { agent, config }, workspace, editor);
  const runner = config?.config.runner ?? RunnerConfig.parse({});
  const seed = config?.config.seed ?? 0;
  const task = (await loadTasks(data, { limit: request.task + 1 }))[request.task];
  if (!task) throw new TrainerError('bad_input', `${data} has no task number ${request.task + 1}.`);
  let tell!: (launch: DebugLaunch) => void;
  const launch = new Promise<DebugLaunch>((resolve) => { tell = resolve; });

  const execute = async (session: Session): Promise<DevResult> => {
    const { store, run_id, gatewayUrl, gatewayKey, signal } = session;
    return withBackend(session, run_id, model, async ({ modelName }) => {
      setPhase(session, 'rollouts');
      // Without a time limit: an agent at a breakpoint is not a slow one.
      const [rollout] = store.enqueueRollouts([{ run_id, input: task.input, task_id: task.id, metadata: { debugged: true }, config: { backend: run_id, seed: deriveSeed(seed, 'dry run', task.id) } }]);
      const { rollout_id } = rollout!;
      try {
        await debugAttempt({
          store, run_id, agent, gateway: { url: gatewayUrl, key: gatewayKey }, config: runner, workspace, modelName, signal,
          onWaiting: (waiting) => tell({ run_id, rollout_id, ...waiting }),
        });
      } finally {
        store.cancelRollouts({ run_id });
      }
      const rollouts = summarise(store, [store.getRollout(rollout_id)!]);
      return { run_id, rollouts, mean_reward: scoreOf(rollouts.map(({ reward }) => reward)).mean_reward };
    });
  };
  return {
    launch,
    prepared: { agent: agentName(agent, workspace), config: { request: withoutSecret(request), data, runner, seed, model: withoutKey(model) }, execute },
  };
}
