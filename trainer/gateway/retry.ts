import { setTimeout as sleep } from 'node:timers/promises';
import { ChatBackendError } from '../protocol/chat.ts';

export interface RetrySettings {
  /** Tries in all, the first included. */
  tries: number;
  /** Wait before the second try, doubled for each further one, with up to half of it at random. */
  baseDelayMs: number;
  /** Longest wait. A server that asks for a longer one (Retry-After) is not tried again. */
  maxDelayMs: number;
}
export const defaultRetry: RetrySettings = { tries: 5, baseDelayMs: 500, maxDelayMs: 60_000 };

const transientStatuses = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Whether the same request may succeed later. A used-up quota comes as 429 too, but no wait helps it. */
export function isTransient(error: unknown): error is ChatBackendError {
  return error instanceof ChatBackendError && transientStatuses.has(error.status) && error.code !== 'insufficient_quota';
}

/** Runs `attempt` until it succeeds, fails for good, or the tries are spent; then throws the last error. */
export async function withRetry<T>(attempt: () => Promise<T>, settings: RetrySettings, signal: AbortSignal): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !isTransient(error) || tried >= settings.tries) throw error;
      const delay = delayMs(tried, (error.retryAfterSeconds ?? 0) * 1000, settings);
      if (delay === null) throw error;
      await sleep(delay, undefined, { signal });
    }
  }
}

/** Wait after the given number of tries; null when the server asks for a longer one than we are ready for. */
export function delayMs(tried: number, askedMs: number, settings: RetrySettings, random = Math.random()): number | null {
  if (askedMs > settings.maxDelayMs) return null;
  const backoff = Math.min(settings.maxDelayMs, settings.baseDelayMs * 2 ** (tried - 1));
  return Math.max(askedMs, backoff * (0.5 + random / 2));
}

/** Seconds of a Retry-After header (delta or HTTP date); null when absent or unreadable. */
export function retryAfterSeconds(header: string | null, now = Date.now()): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000);
}
