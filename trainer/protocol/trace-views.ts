import { z } from 'zod';
import { CreditRule } from './credit.ts';
import type { SpanBatch } from './span-batch.ts';
import type { Kept, RunHeader } from './views.ts';

/**
 * What the trace page is sent and sends back. Lines are light and come in any number; what is said in a span is sent when
 * it is selected. All text is plain text, never markup.
 */

export type SpanKind = 'llm' | 'operation' | 'reward' | 'message' | 'exception' | 'other';

/** A span as one line of the tree. */
export interface SpanRow {
  span_id: string;
  parent_id: string | null;
  kind: SpanKind;
  title: string;
  note: string;
  failed: boolean;
  /** Named by the call itself; else the nearest enclosing operation is its agent. */
  agent: string | null;
  start: number; // seconds since the epoch
  end: number | null;
  order: number; // among spans of the same start
}

export type RolloutState = 'waiting' | 'running' | 'scored' | 'unscored' | 'failed' | 'cancelled';

export interface RolloutHead {
  rollout_id: string;
  title: string;
  state: RolloutState;
  /** The reward, or the outcome in words. */
  note: string;
  reward: number | null;
  start: number | null;
  end: number | null;
  /** Whether its spans are known; else the page asks for them when it is opened. */
  loaded: boolean;
  /** The rollout it continues. */
  replay_of: string | null;
}

/** A message of an LLM call. */
export interface ChatLine {
  role: string;
  name: string | null;
  text: string;
  calls: { name: string; arguments: string }[];
  /** Place in the request's messages; null: the answer, or not to be edited. */
  index: number | null;
}

export type Section =
  | { kind: 'chat'; title: string; messages: ChatLine[] }
  | { kind: 'text'; title: string; text: string; tone: 'plain' | 'error' | 'note' }
  | { kind: 'fields'; title: string; fields: [name: string, value: string][] }
  /** Filled by a `tokens` message, which the page asks for. */
  | { kind: 'tokens' }
  /** Drawn from the credit of the rollout. */
  | { kind: 'credit' };

export interface Detail {
  title: string;
  facts: string;
  sections: Section[];
  /** Where it was written, "agent.ts:41", and whether the other actions make sense. */
  source: string | null;
  curl: boolean;
  replay: boolean;
  compare: boolean;
}

/** Credit as the page draws it, by span id. */
export interface CreditView {
  rule: CreditRule;
  rewards: { span_id: string; name: string; value: string; calls: string[]; byHand: boolean }[];
  calls: { span_id: string; title: string; credit: string | null; advantage: number | null }[];
  note: string | null;
}

export interface TokensView {
  prompt: string[];
  response: { text: string; id: number; logprob: number | null; advantage: number | null }[];
  note: string | null;
}

/** Two attempts beside each other, aligned. `same`: both sides say the same. */
export interface Comparison {
  left: { title: string; note: string };
  right: { title: string; note: string };
  rows: { left: ComparedSpan | null; right: ComparedSpan | null; same: boolean }[];
}
export interface ComparedSpan { kind: SpanKind; title: string; note: string; text: string; level: number; failed: boolean }

export interface TraceView {
  header: RunHeader | null;
  /** A run of the trainer, or an opened file. */
  source: 'run' | 'file';
  rollouts: RolloutHead[];
  /** Choices of a training run's step, newest last; empty for other runs. */
  steps: { value: number; label: string }[];
  step: number | null;
  /** The rollout to open. */
  open: string | null;
}

export type ToTrace =
  | { type: 'view'; view: TraceView; keep: Kept | null }
  | { type: 'header'; header: RunHeader }
  | { type: 'rollouts'; rollouts: RolloutHead[] } // new or changed ones
  | { type: 'spans'; rollout_id: string; reset: boolean; spans: SpanBatch } // reset: in place of all known
  | { type: 'detail'; key: string; detail: Detail }
  | { type: 'credit'; rollout_id: string; credit: CreditView }
  | { type: 'tokens'; key: string; tokens: TokensView | null; problem: string | null }
  | { type: 'matches'; text: string; keys: string[] }
  | { type: 'comparison'; comparison: Comparison | null }
  | { type: 'select'; rollout_id: string };

const place = { rollout_id: z.string(), span_id: z.string() };

export const FromTrace = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('load'), rollout_id: z.string() }),
  z.object({ type: z.literal('step'), step: z.number().int() }),
  z.object({ type: z.literal('cancel'), run_id: z.string() }),
  /** What was selected; its detail is sent, again whenever it changes. */
  z.object({ type: z.literal('select'), rollout_id: z.string(), span_id: z.string().nullable() }),
  z.object({ type: z.literal('search'), text: z.string() }),
  z.object({ type: z.literal('tokens'), ...place }),
  z.object({ type: z.literal('rule'), rollout_id: z.string(), rule: CreditRule }),
  /** `calls` null: as the rule finds them. */
  z.object({ type: z.literal('link'), ...place, calls: z.array(z.string()).nullable() }),
  z.object({ type: z.literal('source'), ...place }),
  z.object({ type: z.literal('curl'), ...place }),
  z.object({ type: z.literal('compare'), rollout_id: z.string() }),
  z.object({ type: z.literal('export'), rollout_id: z.string().nullable() }),
  z.object({ type: z.literal('replay'), ...place, edits: z.array(z.object({ index: z.number().int(), text: z.string() })) }),
]);
export type FromTrace = z.infer<typeof FromTrace>;

/** How the page names a line: the rollout, or the rollout and the span. */
export const spanKey = (rollout_id: string, span_id: string): string => `${rollout_id}/${span_id}`;
