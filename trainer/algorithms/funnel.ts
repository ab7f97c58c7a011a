import type { Funnel } from '../protocol/run.ts';

type Stage = Funnel['losses'][number]['stage'];

/** Counts where the samples of a step go. Losses of one stage and reason are one entry with all their rollouts. */
export class FunnelCounter {
  readonly counts = { rollouts: 0, calls: 0, with_token_ids: 0, scored: 0, trainable: 0, used: 0 };
  readonly #losses = new Map<string, Funnel['losses'][number]>();

  /** `count` samples did not reach `stage`; 0 is no loss. */
  lose(stage: Stage, reason: string, count: number, rolloutId: string): void {
    if (count === 0) return;
    const key = `${stage}\n${reason}`;
    const loss = this.#losses.get(key) ?? { stage, reason, count: 0, rollout_ids: [] };
    loss.count += count;
    if (loss.rollout_ids.at(-1) !== rolloutId) loss.rollout_ids.push(rolloutId);
    this.#losses.set(key, loss);
  }

  result(): Funnel {
    return { ...this.counts, losses: [...this.#losses.values()] };
  }
}

/** Why nothing was left to train on, most frequent reason first; for the message of a skipped step. */
export function whyNothing(funnel: Funnel): string {
  if (funnel.rollouts === 0) return 'there were no rollouts';
  return [...funnel.losses].sort((a, b) => b.count - a.count).slice(0, 3).map((loss) => `${loss.reason} (${loss.count})`).join(', ') || 'no LLM call was trainable';
}
