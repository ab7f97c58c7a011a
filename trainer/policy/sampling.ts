import { TrainerError } from '../protocol/errors.ts';
import { largest } from './largest.ts';

export interface SamplingParameters {
  /** 0 = greedy. */
  temperature: number;
  /** Keep the most likely tokens whose probabilities reach this sum; 1 = all. */
  top_p: number;
  /** Keep this many most likely tokens; 0 = all. */
  top_k: number;
}

export interface PickedToken { token: number; logprob: number }

/** What an answer may say next, token by token. One per answer. */
export interface TokenConstraint {
  /** Bit t & 31 of word t >> 5 is set for each token t that may come next; at least one is. Valid until `accept`. */
  allowed(): Uint32Array;
  /** Takes note of the token drawn. */
  accept(token: number): void;
  /** Nothing but the end may follow. */
  readonly complete: boolean;
}

let restricted = new Float32Array(0);

/** Logits [V] with those of tokens that are not `allowed` at -Infinity. The array is overwritten by the next call. */
export function restrict(logits: Float32Array, allowed: Uint32Array): Float32Array {
  if (restricted.length !== logits.length) restricted = new Float32Array(logits.length);
  restricted.fill(-Infinity);
  for (let word = 0; word < allowed.length; word++) {
    for (let bits = allowed[word] as number; bits !== 0; bits &= bits - 1) {
      const token = word * 32 + 31 - Math.clz32(bits & -bits);
      restricted[token] = logits[token] as number;
    }
  }
  return restricted;
}

/**
 * Draws a token from logits [V] with `u` uniform in [0, 1). Order: temperature, top-k, top-p (on what top-k left).
 * `logprob` (nats) is under the distribution drawn from, so after temperature and truncation; greedy tokens carry theirs at temperature 1.
 * Ties go to the lower id. Throws TrainerError `numeric` when the logits are not finite.
 */
export function pickToken(logits: Float32Array, { temperature, top_p, top_k }: SamplingParameters, u: number): PickedToken {
  const best = argmax(logits);
  const top = logits[best] as number;
  if (temperature === 0) return { token: best, logprob: -Math.log(exponentials(logits, top, 1).total) };
  const inverse = 1 / temperature;
  if (top_p >= 1 && (top_k === 0 || top_k >= logits.length)) {
    const { weights, total } = exponentials(logits, top, inverse);
    let rest = u * total;
    let token = best; // rounding may leave nothing to the last token
    for (let i = 0; i < logits.length; i++) {
      rest -= weights[i] as number;
      if (rest < 0) { token = i; break; }
    }
    return { token, logprob: ((logits[token] as number) - top) * inverse - Math.log(total) };
  }
  const kept = truncate(logits, top, inverse, top_p, top_k);
  let rest = u * kept.total;
  const at = kept.weights.findIndex((weight) => (rest -= weight) < 0);
  const chosen = at < 0 ? 0 : at;
  return { token: kept.ids[chosen] as number, logprob: Math.log((kept.weights[chosen] as number) / kept.total) };
}

/** The `count` most likely tokens and their log-probabilities at the given temperature, most likely first; fewer when fewer are possible. */
export function mostLikely(logits: Float32Array, temperature: number, count: number): PickedToken[] {
  const inverse = temperature > 0 ? 1 / temperature : 1;
  const top = logits[argmax(logits)] as number;
  const logTotal = Math.log(exponentials(logits, top, inverse).total);
  return largest(logits, count).filter((token) => logits[token] !== -Infinity).map((token) => ({ token, logprob: ((logits[token] as number) - top) * inverse - logTotal }));
}

function truncate(logits: Float32Array, top: number, inverse: number, topP: number, topK: number) {
  const { weights: every, total: sum } = exponentials(logits, top, inverse);
  // Most distributions reach any share with few tokens; a flat one is sorted whole.
  for (let most = topK > 0 ? topK : 256; ; most = logits.length) {
    const ids = largest(logits, most);
    const weights = ids.map((id) => every[id] as number);
    const wanted = topP * (topK > 0 ? weights.reduce((s, w) => s + w, 0) : sum);
    let total = 0;
    let count = 0;
    while (count < weights.length && (count === 0 || total < wanted)) total += weights[count++] as number;
    if (topK === 0 && total < wanted && most < logits.length) continue;
    return { ids: ids.slice(0, count), weights: weights.slice(0, count), total };
  }
}

function argmax(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if ((logits[i] as number) > (logits[best] as number)) best = i;
  return best;
}

let scratch = new Float64Array(0);

/** exp((logits - top) · inverse) and their sum. The array is overwritten by the next call. */
function exponentials(logits: Float32Array, top: number, inverse: number): { weights: Float64Array; total: number } {
  if (scratch.length < logits.length) scratch = new Float64Array(logits.length);
  let total = 0;
  for (let i = 0; i < logits.length; i++) total += scratch[i] = Math.exp(((logits[i] as number) - top) * inverse);
  if (!Number.isFinite(total)) {
    throw new TrainerError('numeric', 'The model gives logits that are not finite. Its weights are damaged: go back to an earlier checkpoint, or lower the learning rate.');
  }
  return { weights: scratch, total };
}
