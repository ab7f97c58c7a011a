import type { Executable, Tensors } from '../engine/executor.ts';
import { elementCount, wrap, type Tensor } from '../engine/tensor.ts';
import { layouts, type DecoderConfig } from '../models/decoder-config.ts';
import { gradientOf, sumOf } from '../models/gradient-names.ts';
import { layerGraphs, layerPrefix, type LayerGraphs } from '../models/layer-graphs.ts';
import type { Frozen } from '../models/policy-weights.ts';
import type { ParameterBlock } from '../models/weights.ts';
import { HeadPass } from './head-pass.ts';
import type { MicroBatch } from './micro-batches.ts';
import { placeFeeds, type LossObjective, type ObjectiveInputs, type Pass, type TokenResults } from './pass.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';
import { Workspace } from './workspace.ts';

/** A layer's graphs for one shape, with the names its kind was made with. */
interface Kind { key: string; prefix: string; graphs: LayerGraphs }

/**
 * The decoder layer by layer: layers of a kind share their compiled graphs, what the backward pass needs lies in memory that all shapes share, and the
 * output layer sees few tokens at a time. With `recompute` a layer keeps its input alone and runs forwards twice (`enable_gradient_checkpointing`).
 */
export class LayerPass implements Pass {
  readonly #config: DecoderConfig;
  readonly #frozen: Frozen | null;
  /** Whether the backward pass runs each layer forwards again. */
  recompute: boolean;
  readonly #sessions: SessionCache;
  readonly #head: HeadPass;
  readonly #memory = new Workspace();

  constructor(config: DecoderConfig, frozen: Frozen | null, engine: EngineOptions, { recompute, logitsAtATime }: { recompute: boolean; logitsAtATime?: number }) {
    this.#config = config;
    this.#frozen = frozen;
    this.recompute = recompute;
    this.#sessions = new SessionCache(engine, 12);
    this.#head = new HeadPass(config, frozen, engine, logitsAtATime);
  }

  async forward(batch: MicroBatch, weights: Tensors): Promise<TokenResults> {
    return this.#head.logprobs(batch, await this.#hidden(batch, weights, 'nothing'), weights);
  }

  async backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs, weights: Tensors, gradients: ParameterBlock, mode: 'write' | 'add'): Promise<TokenResults> {
    const hidden = await this.#hidden(batch, weights, this.recompute ? 'inputs' : 'residuals');
    let dy = this.#memory.take('gradient 0', hidden.length).fill(0);
    let dx = this.#memory.take('gradient 1', hidden.length);
    const results = await this.#head.backward(batch, objective, inputs, hidden, dy, weights, gradients, mode);
    for (let layer = this.#config.layers - 1; layer >= 0; layer--) {
      await this.#layerBackward(layer, batch, dy, dx, weights, gradients, mode);
      [dy, dx] = [dx, dy];
    }
    this.#embeddingBackward(batch, dy, gradients, mode);
    return results;
  }

  /** The layer whose result is the first with a number that is not finite, -1 for the embeddings; null: none. */
  async firstNonFinite(batch: MicroBatch, weights: Tensors): Promise<number | null> {
    await this.#hidden(batch, weights, 'inputs');
    for (let layer = 0; layer <= this.#config.layers; layer++) {
      if (this.#memory.take(`x ${layer}`, batch.tokens.length * this.#config.hidden).some((value) => !Number.isFinite(value))) return layer - 1;
    }
    return null;
  }

  async release(): Promise<void> {
    this.#memory.clear();
    await this.#head.release();
    await this.#sessions.release();
  }

  /** Hidden states [B·T, hidden] before the final norm. */
  async #hidden(batch: MicroBatch, weights: Tensors, keep: 'nothing' | 'inputs' | 'residuals'): Promise<Float32Array> {
    const { layers, hidden, family } = this.#config;
    const size = batch.tokens.length * hidden;
    const at = (layer: number) => this.#memory.take(`x ${keep === 'nothing' ? layer % 2 : layer}`, size);
    embed(batch.tokens, weights['model.embed_tokens.weight'] as Tensor<'float32'>, layouts[family].scaledEmbeddings ? Math.fround(Math.sqrt(hidden)) : 1, at(0));
    const shape = [batch.shape.batch, batch.shape.length, hidden];
    for (let layer = 0; layer < layers; layer++) {
      const kind = this.#kind(layer, batch, keep !== 'residuals', false);
      const session = await this.#sessions.get(`forward ${kind.key}`, () => kind.graphs.forward);
      await session.run(
        { x: wrap('float32', shape, at(layer)), ...placeFeeds(batch), ...this.#parameters(session, kind, layer, weights) },
        { y: wrap('float32', shape, at(layer + 1)), ...this.#residuals(kind, layer) },
      );
    }
    return at(layers);
  }

  async #layerBackward(layer: number, batch: MicroBatch, dy: Float32Array, dx: Float32Array, weights: Tensors, gradients: ParameterBlock, mode: 'write' | 'add'): Promise<void> {
    const kind = this.#kind(layer, batch, this.recompute, mode === 'add');
    const session = await this.#sessions.get(`backward ${kind.key}`, () => kind.graphs.backward);
    const shape = [batch.shape.batch, batch.shape.length, this.#config.hidden];
    const own = [...gradients.tensors].filter(([name]) => name.startsWith(layerPrefix(layer)));
    const as = (name: string) => kind.prefix + name.slice(layerPrefix(layer).length);
    await session.run({
      x: wrap('float32', shape, this.#memory.take(`x ${layer}`, dy.length)), dy: wrap('float32', shape, dy), ...placeFeeds(batch),
      ...this.#parameters(session, kind, layer, weights), ...this.#residuals(kind, layer),
      ...(mode === 'add' ? Object.fromEntries(own.map(([name, tensor]) => [sumOf(as(name)), tensor])) : {}),
    }, { dx: wrap('float32', shape, dx), ...Object.fromEntries(own.map(([name, tensor]) => [gradientOf(as(name)), tensor])) });
  }

  #embeddingBackward({ tokens }: MicroBatch, dx: Float32Array, gradients: ParameterBlock, mode: 'write' | 'add'): void {
    const { tied, hidden, family } = this.#config;
    const data = gradients.tensors.get('model.embed_tokens.weight')?.data;
    if (!data) return; // frozen
    if (mode === 'write' && !tied) data.fill(0); // tied: the output layer has written here
    const scale = layouts[family].scaledEmbeddings ? Math.fround(Math.sqrt(hidden)) : 1;
    for (let n = 0; n < tokens.length; n++) {
      const row = (tokens[n] as number) * hidden;
      for (let i = 0; i < hidden; i++) data[row + i] = (data[row + i] as number) + (dx[n * hidden + i] as number) * scale;
    }
  }

  readonly #kinds = new Map<string, Kind>();

  #kind(layer: number, { shape: { batch, length } }: MicroBatch, recompute: boolean, accumulate: boolean): Kind {
    const sliding = this.#config.sliding?.layers ?? [];
    const like = Math.max(0, sliding.findIndex((is) => is === sliding[layer]));
    const key = `${like} ${batch} ${length} ${recompute} ${accumulate}`;
    let kind = this.#kinds.get(key);
    if (!kind) {
      if (this.#kinds.size >= 32) this.#kinds.clear();
      kind = { key, prefix: layerPrefix(like), graphs: layerGraphs(this.#config, this.#frozen, like, { batch, length }, { recompute, accumulate }) };
      this.#kinds.set(key, kind);
    }
    return kind;
  }

  #parameters(session: Executable, { prefix }: Kind, layer: number, weights: Tensors): Record<string, Tensor> {
    const names = [...session.inputs.keys()].filter((name) => name.startsWith(prefix));
    return Object.fromEntries(names.map((name) => [name, weights[layerPrefix(layer) + name.slice(prefix.length)] as Tensor]));
  }

  #residuals({ graphs }: Kind, layer: number): Record<string, Tensor> {
    return Object.fromEntries([...graphs.residuals].map(([name, { shape }]) => [name, wrap('float32', shape, this.#memory.take(`${name} of ${layer}`, elementCount(shape)))]));
  }
}

function embed(tokens: Int32Array, { data, shape: [, width = 0] }: Tensor<'float32'>, scale: number, into: Float32Array): void {
  tokens.forEach((token, n) => { into.set(data.subarray(token * width, (token + 1) * width), n * width); });
  if (scale !== 1) for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) * scale;
}
