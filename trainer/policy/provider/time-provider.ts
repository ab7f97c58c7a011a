import { wholeModel } from '../../models/policy-weights.ts';
import { initialParameters } from '../../models/weights.ts';
import type { DecoderConfig } from '../../models/decoder-config.ts';
import type { ProviderTiming } from '../../protocol/providers.ts';
import { DecodeModel } from '../decode-model.ts';
import { Learner } from '../learner.ts';
import type { EngineOptions } from '../sessions.ts';
import { supervisedStep } from '../supervised.ts';

const [rows, length] = [4, 64]; // of a training step
const slots = 8; // of a decode step
const prompt = 32;
const repeats = 3;
const settings = { lr: 1e-4, betas: [0.9, 0.999] as [number, number], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: rows * length };

/** A model with the widths of this one, small enough to time in seconds: two layers (one of the widest), at most 8,192 tokens. */
export function sizeClass(config: DecoderConfig): DecoderConfig {
  const layers = Math.min(config.layers, config.hidden > 2048 ? 1 : 2);
  const sliding = config.sliding && { ...config.sliding, layers: config.sliding.layers.slice(0, layers) };
  return { ...config, layers, sliding, vocab: Math.min(config.vocab, 8192), contextLength: Math.min(config.contextLength, 256), eosIds: [] };
}

/** Times a training step of 4 × 64 tokens and a decode step of 8 rows, compilation apart. Throws what the engine throws. */
export async function timeProvider(config: DecoderConfig, engine: EngineOptions): Promise<ProviderTiming> {
  const weights = wholeModel(initialParameters(config, 1, 0.02));
  const token = (i: number) => (i * 7919) % config.vocab;
  const width = Math.min(length, config.contextLength);
  const example = (row: number) => ({ tokens: Array.from({ length: width }, (_, t) => token(row * width + t)), mask: Array.from({ length: width }, (_, t) => Number(t > 0)), temperature: 1 });
  const batch = Array.from({ length: rows }, (_, row) => example(row));

  const learner = new Learner(config, weights, engine);
  const train_ms = await median(() => supervisedStep(learner, batch, settings));
  await learner.release();

  const decoder = new DecodeModel(config, weights, engine, slots);
  const prompts = Array.from({ length: slots }, (_, row) => Array.from({ length: Math.min(prompt, width - 1) }, (_, t) => token(row + t)));
  await decoder.extend(0, prompts, prompts.map(() => false));
  const decode_ms = await median((step) => decoder.step(Array.from({ length: slots }, (_, slot) => token(slot + step))));
  await decoder.release();
  return { train_ms, decode_ms, per_token: train_ms / (rows * (width - 1)) + decode_ms / slots };
}

/** Of three, after one that compiles; of one that takes seconds. */
async function median(run: (step: number) => Promise<unknown>): Promise<number> {
  await run(0);
  const times: number[] = [];
  for (let step = 1; step <= repeats; step++) {
    const began = performance.now();
    await run(step);
    times.push(performance.now() - began);
    if ((times[0] as number) > 2000) break;
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;
}
