import { attr, isLlmCall, type Span } from '../protocol/span.ts';

/** The name a span gives to whatever runs inside it. */
function nameOf(span: Span): string | null {
  const name = span.attributes[attr.agentName] ?? span.attributes[attr.operationLabel];
  return typeof name === 'string' ? name : null;
}

/**
 * Finds the agent of an LLM call: the name on the call itself, else of the nearest named ancestor; where the chain of
 * parents is broken (the caller sent no trace context), of the tightest named span that encloses the call in time.
 */
export function agentFinder(spans: readonly Span[]): (call: Span) => string | null {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const named = spans.filter((span) => !isLlmCall(span) && nameOf(span) !== null);

  return (call) => {
    const visited = new Set<Span>();
    for (let span: Span | undefined = call; span && !visited.has(span); span = byId.get(span.parent_id)) {
      visited.add(span);
      const name = nameOf(span);
      if (name !== null) return name;
      if (span.parent_id === null) {
        if (span === call) break;
        return null;
      }
    }
    const tightest = named.filter((span) => encloses(span, call)).sort((a, b) => duration(a) - duration(b) || b.start_time - a.start_time)[0];
    return tightest ? nameOf(tightest) : null;
  };
}

function encloses(outer: Span, inner: Span): boolean {
  return outer.start_time <= inner.start_time && (outer.end_time ?? Infinity) >= (inner.end_time ?? inner.start_time);
}

function duration(span: Span): number {
  return (span.end_time ?? Infinity) - span.start_time;
}
