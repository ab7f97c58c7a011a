import { callSite } from './call-site.ts';
import { ActiveSpan } from './span.ts';
import { currentSpan } from './state.ts';

export interface RewardOptions {
  /** The one of several named rewards that counts; default: the first. */
  primaryKey?: string;
  /** Why, in words. */
  reason?: string | null;
}

const longestReason = 32_768; // characters

/**
 * Reports a reward: a number, or several named ones of which `primaryKey` (default: the first) is the one that counts. The last
 * emitted reward is the attempt's final reward if the agent returns none. Throws TypeError for anything but finite numbers.
 */
export function emitReward(reward: number | Record<string, number>, options: RewardOptions = {}): void {
  recordReward(reward, options, callSite(emitReward));
}

/** `code`: where the agent emitted it; nothing for a reward that it returned. */
export function recordReward(reward: number | Record<string, number>, options: RewardOptions, code: Record<string, string | number>): void {
  const parent = currentSpan();
  if (!parent) return;
  const dimensions = typeof reward === 'object' && reward !== null ? reward : { primary: reward };
  const names = Object.keys(dimensions);
  const primary = options.primaryKey ?? names[0];
  if (primary === undefined || !names.includes(primary)) throw new TypeError(`emitReward: the primary key ${primary} is not among [${names.join(', ')}]`);
  const attributes: Record<string, string | number> = { ...code };
  [primary, ...names.filter((name) => name !== primary)].forEach((name, index) => {
    const value: unknown = dimensions[name];
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new TypeError(`emitReward: a reward is a finite number, got ${typeof value} ${String(value)}${typeof value === 'boolean' ? ': use 1 or 0' : ''}`);
    attributes[`agentlightning.reward.${index}.name`] = name;
    attributes[`agentlightning.reward.${index}.value`] = value;
  });
  const reason: unknown = options.reason ?? undefined;
  if (reason !== undefined && typeof reason !== 'string') throw new TypeError(`emitReward: a reason is a string, got ${typeof reason}`);
  if (reason !== undefined) attributes['agentlightning.reward.0.reason'] = reason.slice(0, longestReason);
  new ActiveSpan(parent.attempt, parent, 'agentlightning.annotation', attributes).end();
}

/** Puts a line of text into the trace. */
export function emitMessage(message: string): void {
  const parent = currentSpan();
  if (!parent) return;
  if (typeof message !== 'string') throw new TypeError(`emitMessage: expected a string, got ${typeof message}`);
  new ActiveSpan(parent.attempt, parent, 'agentlightning.message', { 'agentlightning.message.body': message }).end();
}
