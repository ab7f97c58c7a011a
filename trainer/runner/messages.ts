import { z } from 'zod';
import type { RecordedOperation } from '../protocol/replay.ts';
import type { LLMResource, Resource, Rollout, SourceOverlayResource } from '../protocol/rollout.ts';
import { Span } from '../protocol/span.ts';

/** A span as a worker sends it: the runner adds its place in the order and the trace. */
export const WorkerSpan = Span.omit({ sequence_id: true, trace_id: true, resource: true });
export type WorkerSpan = z.infer<typeof WorkerSpan>;

/** What the agent's call came to. */
export const AgentResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reward'), value: z.number() }),
  z.object({ kind: z.literal('none') }),
  z.object({ kind: z.literal('invalid'), description: z.string(), hint: z.string().optional() }),
  /** `gateway`: the error comes from the connection to the gateway. */
  z.object({ kind: z.literal('raised'), error: z.string(), gateway: z.boolean() }),
]);
export type AgentResult = z.infer<typeof AgentResult>;

/** Worker → runner, one JSON object per line. `begin` gives a span its place in the order; `end` completes it (also without `begin`). `leaving`: the process ends after this result. */
export const WorkerMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), token: z.string() }),
  z.object({ type: z.literal('ready'), agent: z.string() }),
  z.object({ type: z.literal('load_failed'), message: z.string() }),
  z.object({ type: z.literal('begin'), span: WorkerSpan }),
  z.object({ type: z.literal('end'), span: WorkerSpan }),
  z.object({ type: z.literal('result'), attempt_id: z.string(), result: AgentResult, leaving: z.boolean().default(false) }),
]);
export type WorkerMessage = z.infer<typeof WorkerMessage>;

/** Runner → worker. The first message is `load`. */
export interface LoadMessage {
  type: 'load';
  file: string;
  name: string | null;
  workspace: string;
  /** Base URL: requests to it carry the span they belong to. */
  gateway: string;
  /** Names of the resources that its rollouts bring: an agent that needs others is not loaded. */
  resources: readonly string[];
}
export interface RunMessage {
  type: 'run';
  rollout: Pick<Rollout, 'rollout_id' | 'run_id' | 'input' | 'task_id' | 'step' | 'mode' | 'metadata'> & { attempt_id: string };
  trace_id: string;
  llm: Omit<LLMResource, 'resource_type'>;
  resources: Record<string, Exclude<Resource, SourceOverlayResource>>;
  /** Results of an earlier attempt, to be returned in place of running the operation with the same name and input; each once, in order. */
  recorded: RecordedOperation[];
}
