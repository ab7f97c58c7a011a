import type { z } from 'zod';
import { discoverServers } from '../gateway/discover.ts';
import type { Probes } from '../gateway/probes.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { rpcMethods, RpcMethod, RpcResult } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import type { AnnotationReader } from '../runs/annotations.ts';
import type { RunManager } from '../runs/run-manager.ts';
import type { Traces } from '../runs/traces.ts';
import type { Store } from '../store/store.ts';
import type { Asks } from './asks.ts';
import type { EventStream } from './event-stream.ts';

/** The trainer's parts that calls may use. */
export interface RpcParts { store: Store; runs: RunManager; annotations: AnnotationReader; probes: Probes; traces: Traces }

/** And those of the connection that calls: the events it gets, and what it is asked. */
export interface RpcContext extends RpcParts { events: EventStream; asks: Asks }

type Handlers = {
  [M in RpcMethod]: (context: RpcContext, params: z.output<(typeof rpcMethods)[M]['params']>) => RpcResult<M> | Promise<RpcResult<M>>;
};

export const handlers: Handlers = {
  'runs.start': ({ runs, asks }, params) => runs.start(params, asks),
  'runs.list': ({ store }) => store.listRuns(),
  'runs.get': ({ store, runs }, { run_id }) => ({ run: requireRun(store, run_id), steps: store.listSteps(run_id), checkpoints: runs.checkpoints(run_id) }),
  'runs.cancel': ({ runs }, { run_id }) => runs.cancel(run_id),
  'runs.pause': ({ runs }, { run_id }) => runs.pause(run_id),
  'runs.resume': ({ runs, asks }, { run_id, models }) => runs.resume(run_id, asks, models),
  'runs.set_runners': ({ runs }, { run_id, n }) => runs.setRunners(run_id, n),
  'runs.delete': ({ runs }, { run_id }) => {
    runs.delete(run_id);
    return {};
  },
  'runs.export': ({ runs }, { run_id, folder }) => runs.export(run_id, folder),
  'rollouts.list': ({ store }, { run_id, step }) => {
    requireRun(store, run_id);
    return store.listRollouts({ run_id, ...(step === undefined ? {} : { step }) });
  },
  'tasks.list': ({ runs }, { config_path }) => runs.tasks(config_path),
  'trace.get': ({ store }, { rollout_id, attempt_id }) => ({
    rollout: requireRollout(store, rollout_id),
    spans: store.listSpans(rollout_id, attempt_id),
    ...store.getLogs(rollout_id, attempt_id),
  }),
  'prompts.list': ({ runs }, { agent }) => runs.prompts(agent),
  'optimize.get': ({ runs }, { run_id }) => runs.searches.get(run_id),
  'optimize.finish': ({ runs }, { run_id }) => runs.finish(run_id),
  'optimize.add': ({ runs, asks }, { run_id, parent, texts, models }) => runs.addCandidate({ run_id, parent, texts }, asks, models),
  'optimize.pin': ({ runs }, { run_id, candidate_id, pinned }) => runs.pinCandidate(run_id, candidate_id, pinned),
  'annotations.get': ({ annotations }) => annotations.read(),
  'models.probe': ({ probes }, params) => probes.get(params),
  'models.discover': () => discoverServers(),
  'hub.set_token': ({ runs }, { token }) => {
    runs.hubToken = token;
    return {};
  },
  'models.answer': ({ asks }, params) => {
    asks.answer(params);
    return {};
  },
  'debug.prepare': ({ runs, asks }, params) => runs.debug(params, asks),
  'attempts.list': ({ store }, { rollout_id }) => store.listAttempts(requireRollout(store, rollout_id).rollout_id),
  'credit.get': ({ traces }, { rollout_id, attempt_id }) => traces.credit(rollout_id, attempt_id),
  'credit.set': ({ traces }, { rollout_id, ...change }) => traces.setCredit(rollout_id, change),
  'tokens.get': ({ traces }, { rollout_id, span_id, attempt_id }) => traces.tokens(rollout_id, span_id, attempt_id),
  'events.subscribe': ({ events }, filter) => {
    events.subscribe(filter);
    return {};
  },
};

function requireRun(store: Store, run_id: string): Run {
  const run = store.getRun(run_id);
  if (!run) throw new TrainerError('not_found', `There is no run ${run_id} in this workspace.`);
  return run;
}

function requireRollout(store: Store, rollout_id: string): AttemptedRollout {
  const rollout = store.getRollout(rollout_id);
  if (!rollout) throw new TrainerError('not_found', `There is no rollout ${rollout_id} in this workspace.`);
  return rollout;
}
