import { z } from 'zod';

export const AttributeValue = z.union([
  // Number arrays (token ids) before the others: each refused alternative costs one issue per item.
  z.string(), z.boolean(), z.number(), z.array(z.number()), z.array(z.string()), z.array(z.boolean()),
]);
export type AttributeValue = z.infer<typeof AttributeValue>;
export const Attributes = z.record(z.string(), AttributeValue);
export type Attributes = z.infer<typeof Attributes>;

export const SpanStatus = z.object({
  status_code: z.enum(['UNSET', 'OK', 'ERROR']),
  description: z.string().nullable().optional(),
});

/** An OpenTelemetry span of an attempt, in the shape of Agent Lightning v0.3. Times are seconds since the epoch. */
export const Span = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
  /** Order inside the attempt, handed out by the store; shared by all writers. */
  sequence_id: z.number().int(),
  trace_id: z.string(),
  span_id: z.string(),
  parent_id: z.string().nullable(),
  name: z.string(),
  status: SpanStatus,
  attributes: Attributes,
  events: z.array(z.object({ name: z.string(), timestamp: z.number().nullable().optional(), attributes: Attributes.default({}) })).default([]),
  start_time: z.number(),
  end_time: z.number().nullable(),
  resource: z.object({ attributes: Attributes }).default({ attributes: {} }),
});
export type Span = z.infer<typeof Span>;

/** Names of the spans that have a meaning to us. LLM calls are found by `gen_ai.operation.name`, not by name. */
export const spanNames = {
  reward: 'agentlightning.annotation',
  message: 'agentlightning.message',
  exception: 'agentlightning.exception',
  operation: 'agentlightning.operation',
} as const;

/** Attribute keys: GenAI semantic conventions (revision of June 2026), Agent Lightning's, and our own for training data. */
export const attr = {
  operationName: 'gen_ai.operation.name', // 'chat'
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  requestTemperature: 'gen_ai.request.temperature', // effective value
  requestTopP: 'gen_ai.request.top_p',
  requestTopK: 'gen_ai.request.top_k',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestSeed: 'gen_ai.request.seed',
  requestStop: 'gen_ai.request.stop_sequences', // string[]
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  inputMessages: 'gen_ai.input.messages', // JSON text: the request's messages as the agent sent them
  outputMessages: 'gen_ai.output.messages', // JSON text: array of the assistant messages, one per choice
  toolDefinitions: 'gen_ai.tool.definitions', // JSON text
  errorType: 'error.type',
  httpStatus: 'http.response.status_code',

  rewardName: 'agentlightning.reward.0.name',
  rewardValue: 'agentlightning.reward.0.value',
  rewardReason: 'agentlightning.reward.0.reason', // why, in the agent's words
  messageBody: 'agentlightning.message.body',
  operationLabel: 'agentlightning.operation.name',
  operationInput: 'agentlightning.operation.input', // JSON text
  operationOutput: 'agentlightning.operation.output', // JSON text
  operationReplayable: 'agent_trainer.operation.replayable', // true: the output is the whole value, plain JSON
  operationAsync: 'agent_trainer.operation.async', // true: the operation returned a promise

  promptTokenIds: 'agent_trainer.prompt_token_ids', // number[]
  responseTokenIds: 'agent_trainer.response_token_ids', // number[]
  responseLogprobs: 'agent_trainer.response_logprobs', // number[], of the effective (tempered) distribution
  constrained: 'agent_trainer.constrained', // true: only tokens that fit a format could be drawn; the log-probabilities are those among them
  outputFormat: 'agent_trainer.output_format', // JSON text: that format, as the local policy read it; the tokens that could be drawn follow from it
  policyVersion: 'agent_trainer.policy_version',
  requestedParameters: 'agent_trainer.requested_parameters', // JSON text: sampling parameters as the agent sent them
  incomplete: 'agent_trainer.incomplete', // true: the stream broke off; readable, not trainable
  callIndex: 'agent_trainer.call_index', // ordinal of the LLM call in its attempt, from 0
  replayed: 'agent_trainer.replay.recorded', // true: answered from the record of another attempt
  replayDiverged: 'agent_trainer.replay.diverged', // true: so answered, though the messages differ from the recorded ones
  replayEdited: 'agent_trainer.replay.edited', // true: asked with edited messages
  agentName: 'gen_ai.agent.name', // set when the caller names its agent; else the nearest enclosing operation

  codeFile: 'code.file.path',
  codeLine: 'code.line.number',
  codeFunction: 'code.function.name',
} as const;

export function isLlmCall(span: Span): boolean {
  return span.attributes[attr.operationName] === 'chat';
}

/** Reads a numeric array attribute; undefined when absent or of another type. */
export function numbersOf(span: Span, key: string): number[] | undefined {
  const value = span.attributes[key];
  return Array.isArray(value) && value.every((item) => typeof item === 'number') ? (value) : undefined;
}
