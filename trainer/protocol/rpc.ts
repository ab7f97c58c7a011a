import { z } from 'zod';
import { Annotations } from './annotations.ts';
import { Answer, ChosenModel, DebugLaunch, DebugRequest, EndpointCapabilities, FoundServer, ModelsAgain, ProbeRequest } from './endpoints.ts';
import { CallTokens, CreditRule, TraceCredit } from './credit.ts';
import { Candidate, Optimization, OptimizeCost, OptimizeRequest } from './optimize.ts';
import { Prompt } from './prompts.ts';
import { Provider } from './providers.ts';
import { Replay } from './replay.ts';
import { Attempt, AttemptedRollout } from './rollout.ts';
import { Checkpoint, Run, RunKind, StepMetrics } from './run.ts';
import { Span } from './span.ts';
import { TaskList } from './tasks.ts';

/**
 * Messages on the WebSocket `/v1/ws` between the extension and the trainer, JSON text frames.
 * Client → trainer: RpcRequest. Trainer → client: RpcResponse (same id) or RpcEvent.
 */
export const StartRun = z.object({
  kind: RunKind,
  /** Path of an agent-trainer.json. dev and eval: names what the request leaves open; an eval run does its validation tasks, a dry run those it trains on. */
  config_path: z.string().optional(),
  /** dev, eval, optimize: path[:name]. */
  agent: z.string().optional(),
  data: z.string().optional(),
  limit: z.number().int().min(1).optional(),
  /** eval: of the tasks only these. */
  task_ids: z.array(z.string()).min(1).optional(),
  /** dev, eval, optimize: policy folder, or endpoint URL; default: the `model` of the agent-trainer.json nearest to the agent. */
  policy: z.string().optional(),
  against: z.string().optional(),
  /** dev, eval, and optimize (endpoints only): instead of `policy`. */
  model: ChosenModel.optional(),
  /** train, optimize: continue this run. */
  resume: z.string().optional(),
  seed: z.number().int().optional(),
  /** What the engine runs a local policy on; default: that of the configuration, else the fastest here. */
  provider: Provider.optional(),
  /** dev: continue one recorded attempt from an LLM call; agent, task and model are those of its run. */
  replay: Replay.partial({ attempt_id: true, edits: true }).optional(),
  /** optimize: what to search for and how. */
  optimize: OptimizeRequest.optional(),
  /** train: overrides of the file, e.g. { "grpo": { "steps": 3 } }; deep-merged, then validated. */
  overrides: z.record(z.string(), z.unknown()).optional(),
});
export type StartRun = z.infer<typeof StartRun>;

/** No message shows the value that was wrong. */
const HubToken = z.string().regex(/^[!-~]+$/, 'must be a token as the hub gives it, without spaces');

/** Params and result of each method. */
export const rpcMethods = {
  'runs.start': { params: StartRun, result: Run },
  'runs.list': { params: z.object({}), result: z.array(Run) },
  'runs.get': { params: z.object({ run_id: z.string() }), result: z.object({ run: Run, steps: z.array(StepMetrics), checkpoints: z.array(Checkpoint).default([]) }) },
  /** Resolves when the run has ended and its agent processes are gone. */
  'runs.cancel': { params: z.object({ run_id: z.string() }), result: Run },
  /** No new rollout begins; those under way, and an update, finish. The run then says `pause: 'paused'`. */
  'runs.pause': { params: z.object({ run_id: z.string() }), result: Run },
  /** A paused run goes on; a training run that was interrupted, cancelled or failed goes on after its last checkpoint, a search where it was. */
  'runs.resume': { params: z.object({ run_id: z.string(), models: ModelsAgain.optional() }), result: Run },
  /** How many rollouts run at a time, from now on; running ones finish. */
  'runs.set_runners': { params: z.object({ run_id: z.string(), n: z.number().int().min(1).max(256) }), result: Run },
  /** Removes a run that has ended: record, rollouts, traces, checkpoints. */
  'runs.delete': { params: z.object({ run_id: z.string() }), result: z.object({}) },
  /** Writes the run into a new folder: run.json (with the paths of its checkpoints), metrics.json, metrics.csv, traces.jsonl. */
  'runs.export': { params: z.object({ run_id: z.string(), folder: z.string() }), result: z.object({ folder: z.string(), files: z.array(z.string()) }) },
  /** Of a step: those it counted, without those of an interrupted try at it (`metadata.superseded`). */
  'rollouts.list': { params: z.object({ run_id: z.string(), step: z.number().int().optional() }), result: z.array(AttemptedRollout) },
  /** The validation tasks of an agent-trainer.json, as an evaluation by it and the comparison after a training use them. Runs nothing. */
  'tasks.list': { params: z.object({ config_path: z.string() }), result: TaskList },
  /** All spans of the rollout's latest attempt (or the given one), in order. */
  'trace.get': { params: z.object({ rollout_id: z.string(), attempt_id: z.string().optional() }), result: z.object({ rollout: AttemptedRollout, spans: z.array(Span), stdout: z.string(), stderr: z.string() }) },
  /** The prompts that reach an agent (`path[:name]`). */
  'prompts.list': { params: z.object({ agent: z.string() }), result: z.array(Prompt) },
  'optimize.get': { params: z.object({ run_id: z.string() }), result: Optimization },
  /** Ends the search with the best so far, and makes the report. Resolves when it has. */
  'optimize.finish': { params: z.object({ run_id: z.string() }), result: Run },
  /** A text written by hand becomes a candidate and is scored on validation; possible while the search runs and afterwards. */
  'optimize.add': { params: z.object({ run_id: z.string(), parent: z.string(), texts: z.record(z.string(), z.string()), models: ModelsAgain.optional() }), result: Candidate },
  /** A pinned candidate is never dropped, and is a parent like the best. */
  'optimize.pin': { params: z.object({ run_id: z.string(), candidate_id: z.string(), pinned: z.boolean() }), result: Candidate },
  /** What the latest rollouts say about agents and lines of their source. */
  'annotations.get': { params: z.object({}), result: Annotations },
  /** Asks an endpoint a few small questions, unless it was asked before. */
  'models.probe': { params: ProbeRequest, result: EndpointCapabilities },
  /** Model servers that answer on this machine (Ollama, LM Studio). */
  'models.discover': { params: z.object({}), result: z.array(FoundServer) },
  /** The token of an account at the Hugging Face hub, for downloads from now on; null forgets it. It stays in memory: it is written nowhere. */
  'hub.set_token': { params: z.object({ token: HubToken.nullable() }), result: z.object({}) },
  /** The answer to an Ask of this connection. */
  'models.answer': { params: Answer, result: z.object({}) },
  /** Prepares one rollout and waits for the debugger's worker, which must come within two minutes. Ends when the worker does. */
  'debug.prepare': { params: DebugRequest, result: DebugLaunch },
  /** Attempts of a rollout, the first first. */
  'attempts.list': { params: z.object({ rollout_id: z.string() }), result: z.array(Attempt) },
  /** Which calls the rewards of an attempt credit, by the run's rule and links. */
  'credit.get': { params: z.object({ rollout_id: z.string(), attempt_id: z.string().optional() }), result: TraceCredit },
  /** Changes the run's rule, or the calls that rewards of this rollout are linked to (null: as the rule finds them), and computes anew. */
  'credit.set': { params: z.object({ rollout_id: z.string(), rule: CreditRule.optional(), links: z.record(z.string(), z.array(z.string()).nullable()).optional() }), result: TraceCredit },
  /** The tokens of an LLM call as text, by the tokenizer of the run's policy. */
  'tokens.get': { params: z.object({ rollout_id: z.string(), attempt_id: z.string().optional(), span_id: z.string() }), result: CallTokens },
  /** Events of this run (all runs without run_id) and of these types (all without types) are sent from now on. A second call of a connection replaces the first. */
  'events.subscribe': {
    params: z.object({ run_id: z.string().optional(), types: z.array(z.enum(['run', 'run-deleted', 'step', 'candidate', 'rollout', 'spans', 'notice'])).optional() }),
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

/** Nothing of the run has moved since then (seconds since the epoch); told again every minute until something does. */
export const Waiting = z.object({ on: z.string(), since: z.number() });
export type Waiting = z.infer<typeof Waiting>;

/** What happens, as it happens. */
export const TrainerEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('run'), run: Run }),
  z.object({ type: z.literal('run-deleted'), run_id: z.string() }),
  z.object({ type: z.literal('step'), run_id: z.string(), metrics: StepMetrics }),
  /** A candidate as it is now; a known id replaces. */
  z.object({ type: z.literal('candidate'), run_id: z.string(), candidate: Candidate, best: z.string(), spent: OptimizeCost }),
  z.object({ type: z.literal('rollout'), run_id: z.string().nullable(), rollout: AttemptedRollout }),
  z.object({ type: z.literal('spans'), run_id: z.string().nullable(), spans: z.array(Span) }),
  /** A line for a log: what the run does or what it waits for. */
  z.object({ type: z.literal('notice'), run_id: z.string(), level: z.enum(['info', 'warning']), message: z.string(), waiting: Waiting.nullish() }), // null: it moves again
]);
export type TrainerEvent = z.infer<typeof TrainerEvent>;
export const RpcEvent = z.object({ event: TrainerEvent });
