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

/** What a token is drawn from: logits [V], and weights [V] that are the probabilities at the request's temperature (at 1 for a greedy one) but for a common factor. */
export interface Distribution { readonly logits: Float32Array; readonly weights: Float32Array }

let scratch = new Float32Array(0);

/** The distribution of logits [V]. Its weights are overwritten by the next call. */
export function distribution(logits: Float32Array, temperature: number): Distribution {
  if (scratch.length !== logits.length) scratch = new Float32Array(logits.length);
  const [top, inverse] = [logits[argmax(logits)] as number, inverseTemperature(temperature)];
  for (let i = 0; i < logits.length; i++) scratch[i] = Math.exp(((logits[i] as number) - top) * inverse);
  return { logits, weights: scratch };
}

/** What logits are multiplied by before a request's tokens are drawn. */
export function inverseTemperature(temperature: number): number { return temperature > 0 ? 1 / temperature : 1; }

/**
 * Draws a token with `u` uniform in [0, 1). Order: temperature, top-k, top-p (on what top-k left).
 * `logprob` (nats) is under the distribution drawn from, so after temperature and truncation; greedy tokens carry theirs at temperature 1.
 * Ties go to the lower id. Throws TrainerError `numeric` when the logits are not finite.
 */
export function pickToken({ logits, weights }: Distribution, { temperature, top_p, top_k }: SamplingParameters, u: number): PickedToken {
  const total = sumBlocks(weights);
  if (temperature === 0 || (top_p >= 1 && (top_k === 0 || top_k >= logits.length))) {
    const token = temperature === 0 ? argmax(logits) : tokenAt(weights, u * total);
    return { token, logprob: Math.log((weights[token] as number) / total) };
  }
  const kept = truncate({ logits, weights }, total, top_p, top_k);
  let rest = u * kept.total;
  const at = kept.weights.findIndex((weight) => (rest -= weight) < 0);
  const chosen = at < 0 ? 0 : at;
  return { token: kept.ids[chosen] as number, logprob: Math.log((kept.weights[chosen] as number) / kept.total) };
}

/** The `count` most likely tokens and their log-probabilities at the given temperature, most likely first; fewer when fewer are possible. */
export function mostLikely({ logits, weights }: Distribution, temperature: number, count: number): PickedToken[] {
  const inverse = inverseTemperature(temperature);
  const best = argmax(logits);
  const atBest = Math.log((weights[best] as number) / sumBlocks(weights));
  return largest(logits, count).filter((token) => logits[token] !== -Infinity).map((token) => ({ token, logprob: ((logits[token] as number) - (logits[best] as number)) * inverse + atBest }));
}

function truncate({ logits, weights: every }: Distribution, sum: number, topP: number, topK: number) {
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

const blockLength = 256;
let blockSums = new Float64Array(0);

/** Sum of the weights; `blockSums` has the sums of each 256 of them. Throws TrainerError `numeric` when it is not finite. */
function sumBlocks(weights: Float32Array): number {
  const blocks = Math.ceil(weights.length / blockLength);
  if (blockSums.length < blocks) blockSums = new Float64Array(blocks);
  let total = 0;
  for (let block = 0; block < blocks; block++) {
    const end = Math.min(weights.length, (block + 1) * blockLength);
    // Four sums: additions that wait for each other take most of the time.
    let [a, b, c, d] = [0, 0, 0, 0];
    let i = block * blockLength;
    for (; i + 3 < end; i += 4) {
      a += weights[i] as number;
      b += weights[i + 1] as number;
      c += weights[i + 2] as number;
      d += weights[i + 3] as number;
    }
    for (; i < end; i++) a += weights[i] as number;
    total += blockSums[block] = a + b + (c + d);
  }
  if (!Number.isFinite(total)) {
    throw new TrainerError('numeric', 'The model gives logits that are not finite. Its weights are damaged: go back to an earlier checkpoint, or lower the learning rate.');
  }
  return total;
}

/** The token in whose share of the sum `rest` lies, after `sumBlocks` of the same weights. */
function tokenAt(weights: Float32Array, rest: number): number {
  let block = 0;
  while ((block + 1) * blockLength < weights.length && rest >= (blockSums[block] as number)) rest -= blockSums[block++] as number;
  const end = Math.min(weights.length, (block + 1) * blockLength);
  for (let i = block * blockLength; i < end; i++) {
    rest -= weights[i] as number;
    if (rest < 0) return i;
  }
  return argmax(weights); // rounding may leave nothing to the last token
}
