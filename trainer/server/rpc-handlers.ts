import type { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { rpcMethods, RpcMethod, RpcResult } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import type { RunManager } from '../runs/run-manager.ts';
import type { Traces } from '../runs/traces.ts';
import type { Store } from '../store/store.ts';
import type { EventStream } from './event-stream.ts';

/** What a call may use: the trainer's parts, and the events of the connection that calls. */
export interface RpcContext { store: Store; runs: RunManager; traces: Traces; events: EventStream }

type Handlers = {
  [M in RpcMethod]: (context: RpcContext, params: z.output<(typeof rpcMethods)[M]['params']>) => RpcResult<M> | Promise<RpcResult<M>>;
};

export const handlers: Handlers = {
  'runs.start': ({ runs }, params) => runs.start(params),
  'runs.list': ({ store }) => store.listRuns(),
  'runs.get': ({ store }, { run_id }) => ({ run: requireRun(store, run_id), steps: store.listSteps(run_id) }),
  'runs.cancel': ({ runs }, { run_id }) => runs.cancel(run_id),
  'rollouts.list': ({ store }, { run_id, step }) => {
    requireRun(store, run_id);
    return store.listRollouts({ run_id, ...(step === undefined ? {} : { step }) });
  },
  'trace.get': ({ store }, { rollout_id, attempt_id }) => ({
    rollout: requireRollout(store, rollout_id),
    spans: store.listSpans(rollout_id, attempt_id),
    ...store.getLogs(rollout_id, attempt_id),
  }),
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
