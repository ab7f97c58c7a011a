import { usageOf } from '../adapter/usage.ts';
import { attr, isLlmCall, spanNames, type Span } from '../protocol/span.ts';

/** A place in the user's source. Lines count from 1. */
export interface Place { file: string; line: number }

/** What the spans of one attempt say about lines of source, and what its calls cost. */
export interface RolloutFacts {
  /** Of the calls that said; null: none did. */
  input_tokens: number | null;
  output_tokens: number | null;
  rewards: { place: Place; value: number }[];
  /** `error`: null for a call that succeeded. `place`: of the nearest enclosing operation with a place. */
  calls: { place: Place; error: string | null }[];
}

export function factsOf(spans: readonly Span[]): RolloutFacts {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const facts: RolloutFacts = { ...usageOf(spans), rewards: [], calls: [] };
  for (const span of spans) {
    const value = span.attributes[attr.rewardValue];
    const own = placeOf(span);
    if (span.name === spanNames.reward && typeof value === 'number' && own) facts.rewards.push({ place: own, value });
    if (!isLlmCall(span)) continue;
    const place = enclosingPlace(span, byId);
    if (place) facts.calls.push({ place, error: span.status.status_code === 'ERROR' ? span.status.description ?? 'The call failed.' : null });
  }
  return facts;
}

function enclosingPlace(span: Span, byId: Map<string, Span>): Place | null {
  const seen = new Set<string>(); // spans of others may form a circle
  for (let each: Span | undefined = span; each && !seen.has(each.span_id); each = each.parent_id === null ? undefined : byId.get(each.parent_id)) {
    seen.add(each.span_id);
    const place = placeOf(each);
    if (place) return place;
  }
  return null;
}

function placeOf({ attributes }: Span): Place | null {
  const file = attributes[attr.codeFile];
  const line = attributes[attr.codeLine];
  return typeof file === 'string' && typeof line === 'number' ? { file, line } : null;
}
