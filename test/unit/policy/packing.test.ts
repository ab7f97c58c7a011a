import assert from 'node:assert/strict';
import fc from 'fast-check';
import { frozenBase } from '../../fixtures/lora.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import type { DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { initialFactors } from '../../../trainer/models/lora.ts';
import { weightFeeds, wholeModel, type PolicyWeights } from '../../../trainer/models/policy-weights.ts';
import { allocateBlock } from '../../../trainer/models/weights.ts';
import { LayerPass } from '../../../trainer/policy/layer-pass.ts';
import { microBatches, type MicroBatch, type TokenRow } from '../../../trainer/policy/micro-batches.ts';
import type { LossObjective, ObjectiveInputs, Pass } from '../../../trainer/policy/pass.ts';
import { WholePass } from '../../../trainer/policy/whole-pass.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

const objectives: Record<string, LossObjective> = {
  supervised: { kind: 'supervised' },
  'token level, KL, entropy': { kind: 'grpo', kl: 'k3', level: 'token', entropy: true },
  'sequence level, KL, entropy': { kind: 'grpo', kl: 'k2', level: 'sequence', entropy: true },
};

/** What a loss needs of each token depends on its row and its place in it alone. */
function inputsFor(objective: LossObjective, { origins }: MicroBatch, rows: readonly TokenRow[]): ObjectiveInputs {
  const vary = (scale: number, shift: number) => Float32Array.from(origins, ({ row, at }) => scale * Math.sin(row * 2.3 + at * 1.7) + shift);
  if (objective.kind === 'supervised') return { perToken: { weight: vary(0.02, 0.03) }, scalars: {} };
  const trained = (row: number) => Array.from(rows[row]!.mask).filter(Boolean).length;
  return {
    perToken: {
      weight: vary(0.01, 0.02), advantage: vary(1, 0), old_logprob: vary(0.5, -4), ref_logprob: vary(0.4, -4),
      ...(objective.level === 'sequence' ? { sequence_share: Float32Array.from(origins, ({ row }) => 1 / trained(row)) } : {}),
    },
    scalars: { clip_low: 0.2, clip_high: 0.28, clip_c: 3, entropy_coeff: 0.01, kl_coef: 0.1 },
  };
}

/** Loss, gradients, and log-probability and entropy of each trained token by row and place. */
async function outcome(pass: Pass, model: PolicyWeights, objective: LossObjective, batches: readonly MicroBatch[], rows: readonly TokenRow[]) {
  const gradients = allocateBlock(model.trainable.tensors);
  gradients.flat.fill(NaN); // what is not written shows
  let loss = 0;
  const tokens = new Map<string, [number, number]>();
  for (const [i, batch] of batches.entries()) {
    const result = await pass.backward(batch, objective, inputsFor(objective, batch, rows), weightFeeds(model), gradients, i === 0 ? 'write' : 'add');
    loss += result.loss;
    batch.origins.forEach(({ row, at }, n) => tokens.set(`${row} ${at}`, [result.logprob[n]!, result.entropy[n]!]));
  }
  await pass.release();
  const values = [...tokens].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, pair]) => pair);
  return { loss, values: Float32Array.from(values), gradients };
}
type Outcome = Awaited<ReturnType<typeof outcome>>;

function alike(actual: Outcome, expected: Outcome, what: string): void {
  const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const near = (a: Float32Array, b: Float32Array, name: string, least = 0) => {
    assert.equal(a.length, b.length, `${name}: ${what}`);
    const most = largest(a.map((value, i) => value - b[i]!));
    assert.ok(most <= 1e-5 * Math.max(least, largest(b)), `${name}: ${most} of ${largest(b)}, ${what}`);
  };
  near(Float32Array.of(actual.loss), Float32Array.of(expected.loss), 'loss', 0.02); // of a token; their sum may come to nothing
  near(actual.values, expected.values, 'log-probabilities and entropies');
  const negligible = 1e-4 * largest(expected.gradients.flat); // some cancel to nothing but rounding
  for (const [name, { data }] of expected.gradients.tensors) near(actual.gradients.tensors.get(name)!.data, data, name, negligible);
}

/** A micro-batch for each row. */
function single(rows: readonly TokenRow[], config: DecoderConfig): MicroBatch[] {
  return rows.flatMap((row, index) => microBatches([row], 1024, config).map((batch) => ({ ...batch, origins: batch.origins.map(({ at }) => ({ row: index, at })) })));
}

/** Answers of two prompts, of which two are equal, one begins as another does and one is the beginning of another; two turns of which the first, trained as well, are the same; and texts by themselves. */
function family(vocab: number): TokenRow[] {
  const random = (length: number, seed: number) => randomTokens(length, seed, vocab);
  const row = (prompt: number[], answer: number[], temperature = 1): TokenRow => ({ tokens: [...prompt, ...answer], mask: [...prompt.map(() => 0), ...answer.map(() => 1)], temperature });
  const [long, short, answer] = [random(21, 1), random(1, 2), random(13, 3)];
  const turns = (seed: number): TokenRow => ({ tokens: [...long, ...answer, ...random(5, 4), ...random(6, seed)], mask: [...long.map(() => 0), ...answer.map(() => 1), ...Array<number>(5).fill(0), ...Array<number>(6).fill(1)], temperature: 1 });
  return [
    row(long, answer), row(long, answer, 0.7), row(long, answer.slice(0, 6)), row(long, [...answer.slice(0, 4), ...random(9, 5)]), row(long, random(17, 6)), turns(7), turns(8),
    row(short, random(8, 9)), row(short, random(11, 10)), row(random(2, 11), random(29, 12)), row(random(1, 13), random(1, 14)),
  ];
}

describe('packed rows', () => {
  const lora = { rank: 3, alpha: 6, targets: ['q_proj', 'o_proj', 'down_proj'] as const, rslora: false };
  const models: [string, DecoderConfig, PolicyWeights][] = [
    ...Object.entries(tinyFamilies).map(([name, { config }]): [string, DecoderConfig, PolicyWeights] => [name, config, wholeModel(smallWeights(config, 1, 0.1))]),
    ...(['float32', 'float16', 'int8'] as const).map((type): [string, DecoderConfig, PolicyWeights] => {
      const { config } = tinyFamilies['Llama 3']!;
      const factors = initialFactors(config, lora, 1);
      factors.flat.forEach((value, i) => { factors.flat[i] = value === 0 ? 0.1 * Math.sin(i) : value; });
      return [`LoRA over ${type}`, config, { trainable: factors, frozen: { base: frozenBase(smallWeights(config, 1, 0.1), type), lora } }];
    }),
  ];
  for (const [name, config, model] of models) {
    it(`have the losses and gradients of their rows one by one: ${name}`, async () => {
      const rows = family(config.vocab);
      const batches = microBatches(rows, 256, config);
      const texts = rows.reduce((sum, { tokens }) => sum + tokens.length, 0);
      assert.ok(batches.reduce((sum, { tokens }) => sum + tokens.length, 0) < texts, 'something is shared');
      for (const [kind, objective] of Object.entries(objectives)) {
        const expected = await outcome(new WholePass(config, model.frozen, engine), model, objective, single(rows, config), rows);
        alike(await outcome(new WholePass(config, model.frozen, engine), model, objective, batches, rows), expected, `${kind}, whole`);
        for (const recompute of [false, true]) {
          alike(await outcome(new LayerPass(config, model.frozen, engine, { recompute, logitsAtATime: 32 * config.vocab }), model, objective, batches, rows), expected, `${kind}, layer by layer, recompute ${recompute}`);
        }
      }
    });
  }

  it('of any kind have those of their rows one by one', async () => {
    const model = wholeModel(smallWeights());
    const letter = fc.integer({ min: 1, max: 3 });
    const text = fc.array(fc.record({ id: letter, trained: fc.boolean() }), { minLength: 2, maxLength: 30 });
    await fc.assert(fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 12 }), fc.constantFrom(32, 64, 256), fc.constantFrom(...Object.values(objectives)), async (texts, budget, objective) => {
      const rows = texts.map((list): TokenRow => ({ tokens: list.map(({ id }) => id), mask: list.map(({ trained }, at) => Number(at === 1 || (trained && at > 1))), temperature: 1 }));
      const expected = await outcome(new WholePass(smallConfig, null, engine), model, objective, single(rows, smallConfig), rows);
      alike(await outcome(new WholePass(smallConfig, null, engine), model, objective, microBatches(rows, budget, smallConfig), rows), expected, 'whole');
      alike(await outcome(new LayerPass(smallConfig, null, engine, { recompute: false }), model, objective, microBatches(rows, budget, smallConfig), rows), expected, 'layer by layer');
    }), { numRuns: 12, endOnFailure: true });
  });
});
