/** An OpenAI-compatible model. `endpoint` is a base URL that ends in /v1 and belongs to one attempt. */
export interface LLM {
  endpoint: string;
  model: string;
  api_key: string;
  sampling_parameters: Record<string, unknown>;
}

/** The rollout an agent is running for. */
export interface RolloutInfo {
  rollout_id: string;
  attempt_id: string;
  run_id: string | null;
  input: unknown;
  task_id: string | null;
  step: number | null;
  mode: 'train' | 'val' | 'test' | null;
  metadata: Record<string, unknown> | null;
}

export type Resource =
  | { resource_type: 'llm'; endpoint: string; model: string; api_key: string | null; sampling_parameters: Record<string, unknown> }
  | { resource_type: 'prompt_template'; template: string; engine: 'f-string' | 'jinja' };

/** The second argument of an agent. */
export interface AgentContext {
  llm: LLM;
  rollout: RolloutInfo;
  /** The run's resources by name. */
  resources: Record<string, Resource>;
}

/** A reward with the reason for it in words: shown with the reward, and what prompts are improved from. */
export interface ReasonedReward {
  reward: number;
  reason?: string | null;
}

/** What an agent may return: its final reward, with a reason or without, or nothing when it emitted one. */
export type Reward = number | ReasonedReward | null | undefined | void;

/** What the runner asks a worker to do. */
export interface LoadMessage { type: 'load'; file: string; name: string | null; workspace: string; gateway: string; resources: readonly string[] }
export interface RunMessage { type: 'run'; rollout: RolloutInfo; trace_id: string; llm: LLM; resources: Record<string, Resource>; recorded: RecordedOperation[] }

/** What an operation came to in an earlier attempt. Texts are JSON. */
export interface RecordedOperation { name: string; input: string; output: string; async: boolean }

/** How an agent's call ended, in the worker's words. */
export type AgentResult =
  | { kind: 'reward'; value: number }
  | { kind: 'none' }
  | { kind: 'invalid'; description: string; hint?: string }
  | { kind: 'raised'; error: string; gateway: boolean };

export interface WireSpan {
  rollout_id: string;
  attempt_id: string;
  span_id: string;
  parent_id: string | null;
  name: string;
  status: { status_code: 'UNSET' | 'OK' | 'ERROR'; description: string | null };
  attributes: Record<string, string | number | boolean>;
  events: { name: string; timestamp: number | null; attributes: Record<string, string> }[];
  start_time: number;
  end_time: number | null;
}

export type WorkerMessage =
  | { type: 'hello'; token: string }
  | { type: 'ready'; agent: string }
  | { type: 'load_failed'; message: string }
  | { type: 'begin' | 'end'; span: WireSpan }
  | { type: 'result'; attempt_id: string; result: AgentResult; leaving?: boolean };
