import { createHash, randomBytes } from 'node:crypto';

export type IdPrefix = 'ru' | 'ro' | 'at' | 'rs';

/** A new id of a run (`ru-`), rollout (`ro-`), attempt (`at-`) or resource bundle (`rs-`): prefix and 12 random hex characters. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

/** A new OpenTelemetry span id: 16 hex characters. */
export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** The trace id of an attempt (32 hex characters), derived from its id so that every writer of spans finds the same one. */
export function traceIdOf(attempt_id: string): string {
  return createHash('sha256').update(attempt_id).digest('hex').slice(0, 32);
}
