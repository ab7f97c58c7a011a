import { messageOf, TrainerError, type ErrorCode } from '../protocol/errors.ts';
import type { DpoMetrics, ExampleSettings, PolicyInfo, PreferencePair, ScoredRow, SftMetrics, TrainRow, UpdateMetrics, UpdateSettings } from '../protocol/policy.ts';
import type { LoraSettings } from '../models/lora.ts';
import type { BaseType } from '../protocol/lora-config.ts';
import type { TokenTable } from '../models/token-table.ts';
import type { Provider } from '../protocol/providers.ts';
import type { SamplingDtype } from '../protocol/rollout.ts';
import type { Conversation } from './chat-prompt.ts';
import type { OutputFormat } from './output-format.ts';
import type { SampledToken, SampleRequest } from './sampler.ts';

/** What the worker is started with. */
export interface WorkerOptions { folder: string; provider: Provider; providerReason: string; threads: number; lora: LoraStart | AdapterStart | null }

/** Factors to train, drawn from a seed, beside a frozen model that is kept in `base`. */
export interface LoraStart extends LoraSettings { seed: number; base: BaseType }

/** The factors of the adapter in a folder (PEFT's layout) to go on from, beside such a model. */
export interface AdapterStart { adapter: string; base: BaseType }

/** Calls that are answered once. */
export interface PolicyCalls {
  update: { input: { miniBatches: TrainRow[][]; settings: UpdateSettings }; output: { metrics: UpdateMetrics; version: number } };
  sft: { input: { rows: ScoredRow[]; settings: ExampleSettings }; output: { metrics: SftMetrics; version: number } };
  dpo: { input: { pairs: PreferencePair[]; settings: ExampleSettings & { beta: number } }; output: { metrics: DpoMetrics; version: number } };
  logprobs: { input: { rows: ScoredRow[]; weights: 'present' | 'reference' }; output: Float32Array[] };
  setReference: { input: null; output: null };
  adoptAverage: { input: null; output: { version: number } };
  save: { input: { folder: string; resumable: boolean }; output: null };
  restore: { input: { folder: string }; output: { version: number } };
  close: { input: null; output: null };
}
export type CallName = keyof PolicyCalls;

/** A conversation to continue; without `max_tokens` as far as the context goes. It is rendered in the thread: templates come with the model and may take any time. */
export interface ChatSample extends Omit<SampleRequest, 'prompt' | 'max_tokens' | 'constraint'>, Conversation { max_tokens: number | null; format: OutputFormat | null; dtype: SamplingDtype }

/** Trainer -> worker. */
export type ToWorker =
  | { type: 'sample'; request: ChatSample }
  | { type: 'cancel'; id: number }
  | { [N in CallName]: { type: 'call'; id: number; name: N; input: PolicyCalls[N]['input'] } }[CallName];

/** `prompt` comes first, `done` or `failed` last; or `invalid` alone: the conversation cannot be continued, by no fault of the model. */
export type SampleMessage =
  | { type: 'prompt'; id: number; prompt: number[]; max_tokens: number }
  | { type: 'invalid'; id: number; error: PlainError }
  | { type: 'token'; id: number; token: SampledToken }
  | { type: 'done'; id: number; finish: 'stop' | 'length'; cached: number; version: number }
  | { type: 'failed'; id: number; error: PlainError };

/** Worker -> trainer. `ready` or `unusable` comes first. */
export type FromWorker =
  | { type: 'ready'; info: PolicyInfo; tokens: TokenTable }
  | { type: 'unusable'; error: PlainError }
  | { type: 'samples'; samples: SampleMessage[] }
  | { type: 'answer'; id: number; output: unknown }
  | { type: 'refused'; id: number; error: PlainError };

/** An error as data: classes do not survive the way between threads. */
export interface PlainError { code: ErrorCode; message: string; details?: Record<string, unknown> | undefined }

export function toPlain(error: unknown): PlainError {
  if (error instanceof TrainerError) return { code: error.code, message: error.message, details: error.details };
  return { code: 'internal', message: messageOf(error), details: error instanceof Error ? { stack: error.stack } : undefined };
}

export function fromPlain({ code, message, details }: PlainError): TrainerError {
  return new TrainerError(code, message, details ? { details } : {});
}
