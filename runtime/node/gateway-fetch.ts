import { currentSpan } from './state.ts';

const connectionErrors = new WeakSet<object>();

/**
 * Wraps the global fetch for requests to the gateway's origin only: adds `traceparent`, so that an LLM call is attributed to the step
 * that made it, and remembers failures of the connection, so that a dead gateway is not counted as the agent's mistake.
 */
export function hookFetch(gatewayUrl: string): void {
  const { origin } = new URL(gatewayUrl);
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    if (originOf(input) !== origin) return original(input, init);
    const headers = new Headers(init?.headers ?? request?.headers);
    const span = currentSpan();
    if (span && !headers.has('traceparent')) headers.set('traceparent', span.traceparent);
    try {
      return await original(input, { ...init, headers });
    } catch (error) {
      const aborted = init?.signal?.aborted ?? request?.signal.aborted;
      if (!aborted && typeof error === 'object' && error !== null) connectionErrors.add(error);
      throw error;
    }
  };
}

function originOf(input: string | URL | Request): string | null {
  if (input instanceof URL) return input.origin;
  const url = typeof input === 'string' ? input : input.url;
  return URL.canParse(url) ? new URL(url).origin : null; // fetch itself rejects what is no URL
}

/** Whether an error is, or was caused by, a failed connection to the gateway. */
export function isGatewayError(error: unknown): boolean {
  const seen = new Set<unknown>();
  for (let item = error; typeof item === 'object' && item !== null && !seen.has(item); item = (item as { cause?: unknown }).cause) {
    if (connectionErrors.has(item)) return true;
    seen.add(item);
  }
  return false;
}
