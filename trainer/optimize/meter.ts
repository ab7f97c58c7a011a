import type { Budget, OptimizeCost, Prices } from '../protocol/optimize.ts';

/** Thrown inside a search to end it: whatever it has found so far stands. */
export class SearchOver extends Error {
  override readonly name = 'SearchOver';
  readonly reason: 'budget' | 'stopped';

  constructor(reason: 'budget' | 'stopped') {
    super(reason === 'budget' ? 'The budget is used up.' : 'The search was ended.');
    this.reason = reason;
  }
}

/** What was spent at once: rollouts, or a call of the optimiser. */
export type Charge = Partial<Pick<OptimizeCost, 'rollouts' | 'cached_rollouts' | 'optimizer_calls' | 'input_tokens' | 'output_tokens'>>;

export function noCost(): OptimizeCost {
  return { rollouts: 0, cached_rollouts: 0, optimizer_calls: 0, input_tokens: 0, output_tokens: 0, usd: null, seconds: 0 };
}

export interface MeterOptions {
  budget: Budget;
  prices?: Prices | undefined;
  /** Rollouts that the search must leave for the report. */
  reserve?: number;
  /** By an earlier process. */
  spent?: OptimizeCost;
  /** Seconds the search has worked so far. */
  seconds?: () => number;
}

/** Adds up what a search spends and ends it in time for its report. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #spent: OptimizeCost;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#spent = { ...(options.spent ?? { ...noCost(), usd: options.prices ? 0 : null }) };
  }

  get budget(): Budget {
    return this.#options.budget;
  }

  get spent(): OptimizeCost {
    return { ...this.#spent, seconds: this.#seconds };
  }

  /** Also to `own`, the cost of one candidate. */
  charge(charge: Charge, own?: OptimizeCost): void {
    const { prices } = this.#options;
    const usd = prices ? ((charge.input_tokens ?? 0) * prices.input + (charge.output_tokens ?? 0) * prices.output) / 1e6 : null;
    for (const cost of own ? [this.#spent, own] : [this.#spent]) {
      for (const key of ['rollouts', 'cached_rollouts', 'optimizer_calls', 'input_tokens', 'output_tokens'] as const) cost[key] += charge[key] ?? 0;
      if (usd !== null) cost.usd = (cost.usd ?? 0) + usd;
    }
  }

  /** Throws SearchOver when `rollouts` more would not leave enough for the report. Tokens, money and time of the report are guessed from those so far. */
  require(rollouts: number): void {
    const { budget, reserve = 0 } = this.#options;
    const { spent } = this;
    const reserved = spent.rollouts === 0 ? 1 : 1 + reserve / spent.rollouts;
    const over = spent.rollouts + rollouts + reserve > (budget.rollouts ?? Infinity)
      || (spent.input_tokens + spent.output_tokens) * reserved >= (budget.tokens ?? Infinity)
      || (spent.usd ?? 0) * reserved >= (budget.usd ?? Infinity)
      || spent.seconds * reserved >= (budget.minutes ?? Infinity) * 60;
    if (over) throw new SearchOver('budget');
  }

  /** Rollouts the search may still make. */
  get left(): number {
    const { budget, reserve = 0 } = this.#options;
    return Math.max(0, (budget.rollouts ?? Infinity) - this.#spent.rollouts - reserve);
  }

  get #seconds(): number {
    return this.#options.seconds?.() ?? 0;
  }
}
