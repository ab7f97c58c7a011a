import { z } from 'zod';
import { AttemptedRollout } from './rollout.ts';
import { Run, RunKind, StepMetrics } from './run.ts';
import { Span } from './span.ts';

/**
 * Messages on the WebSocket `/v1/ws` between the extension and the trainer, JSON text frames.
 * Client → trainer: RpcRequest. Trainer → client: RpcResponse (same id) or RpcEvent.
 */
export const StartRun = z.object({
  kind: RunKind,
  /** train: path of an agent-trainer.json. */
  config_path: z.string().optional(),
  /** dev and eval: path[:name]. */
  agent: z.string().optional(),
  data: z.string().optional(),
  limit: z.number().int().min(1).optional(),
  /** dev, eval: policy folder, or endpoint URL; default: the `model` of the agent-trainer.json nearest to the agent. */
  policy: z.string().optional(),
  against: z.string().optional(),
  /** train: continue this run. */
  resume: z.string().optional(),
  seed: z.number().int().optional(),
  /** train: overrides of the file, e.g. { "grpo": { "steps": 3 } }; deep-merged, then validated. */
  overrides: z.record(z.string(), z.unknown()).optional(),
});
export type StartRun = z.infer<typeof StartRun>;

/** Params and result of each method. */
export const rpcMethods = {
  'runs.start': { params: StartRun, result: Run },
  'runs.list': { params: z.object({}), result: z.array(Run) },
  'runs.get': { params: z.object({ run_id: z.string() }), result: z.object({ run: Run, steps: z.array(StepMetrics) }) },
  /** Resolves when the run has ended and its agent processes are gone. */
  'runs.cancel': { params: z.object({ run_id: z.string() }), result: Run },
  'rollouts.list': { params: z.object({ run_id: z.string(), step: z.number().int().optional() }), result: z.array(AttemptedRollout) },
  /** All spans of the rollout's latest attempt (or the given one), in order. */
  'trace.get': { params: z.object({ rollout_id: z.string(), attempt_id: z.string().optional() }), result: z.object({ rollout: AttemptedRollout, spans: z.array(Span), stdout: z.string(), stderr: z.string() }) },
  /** Events of this run (all runs without run_id) and of these types (all without types) are sent from now on. A second call of a connection replaces the first. */
  'events.subscribe': {
    params: z.object({ run_id: z.string().optional(), types: z.array(z.enum(['run', 'step', 'rollout', 'spans', 'notice'])).optional() }),
    result: z.object({}),
  },
} as const;
export type RpcMethod = keyof typeof rpcMethods;
export type RpcParams<M extends RpcMethod> = z.input<(typeof rpcMethods)[M]['params']>;
export type RpcResult<M extends RpcMethod> = z.output<(typeof rpcMethods)[M]['result']>;

export const RpcRequest = z.object({ id: z.number().int(), method: z.string(), params: z.unknown().optional() });
export const RpcError = z.object({ code: z.string(), message: z.string() });
export const RpcResponse = z.union([
  z.object({ id: z.number().int(), result: z.unknown() }),
  z.object({ id: z.number().int(), error: RpcError }),
]);

/** What happens, as it happens. */
export const TrainerEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('run'), run: Run }),
  z.object({ type: z.literal('step'), run_id: z.string(), metrics: StepMetrics }),
  z.object({ type: z.literal('rollout'), run_id: z.string().nullable(), rollout: AttemptedRollout }),
  z.object({ type: z.literal('spans'), run_id: z.string().nullable(), spans: z.array(Span) }),
  /** A line for a log: what the run does or what it waits for. */
  z.object({ type: z.literal('notice'), run_id: z.string(), level: z.enum(['info', 'warning']), message: z.string() }),
]);
export type TrainerEvent = z.infer<typeof TrainerEvent>;
export const RpcEvent = z.object({ event: TrainerEvent });
