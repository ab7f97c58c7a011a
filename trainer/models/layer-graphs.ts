import { pullback, addedTo } from '../engine/autodiff.ts';
import { GraphBuilder, type Graph, type Value } from '../engine/graph.ts';
import { residuals } from '../engine/residuals.ts';
import type { ValueType } from '../engine/tensor.ts';
import { causalAttention, placesInputs } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoderLayer } from './decoder.ts';
import { gradientOf, sumOf } from './gradient-names.ts';
import { weightInputs, type Frozen } from './policy-weights.ts';

export interface LayerGraphs {
  /** x -> y, both [B, T, hidden], and the residuals. */
  forward: Graph;
  /** x, the residuals and the gradient dy -> dx and the gradients of the layer's parameters. */
  backward: Graph;
  /** What the forward pass keeps for the backward pass besides x. */
  residuals: ReadonlyMap<string, ValueType>;
}

/**
 * One layer of the decoder by itself, over packed rows; inputs position_ids and subtree_end as for `causalAttention`. Other inputs and outputs carry the parameters' names, those of layer `layer`.
 * `recompute`: nothing but x is kept, the backward pass begins with the forward pass (gradient checkpointing, Chen et al. 2016).
 * `accumulate`: gradients are added to the inputs `sum <parameter>`.
 */
export function layerGraphs(config: DecoderConfig, frozen: Frozen | null, layer: number, { batch, length }: { batch: number; length: number }, { recompute, accumulate }: { recompute: boolean; accumulate: boolean }): LayerGraphs {
  const b = new GraphBuilder();
  const x = b.input('x', 'float32', [batch, length, config.hidden]);
  const { weight, trainable } = weightInputs(b, config, frozen, (name) => name.startsWith(layerPrefix(layer)));
  const places = placesInputs(b, batch, length);
  const forwardInputs = new Map(b.inputs);
  const parameters = [...trainable];
  const y = decoderLayer(b, config, weight, x, causalAttention(b, config, places), layer, null);
  const dy = b.input('dy', 'float32', y.shape);
  const [dx, ...grads] = pullback(b, y, dy, [x, ...parameters.map(([, value]) => value)]) as [Value, ...Value[]];

  const kept = recompute ? [] : residuals(new Set(forwardInputs.values()), [y], [dx, ...grads]);
  const named = new Map(kept.map((value, i) => [`residual ${i}`, value]));
  const sums = accumulate ? parameters.map(([name, { shape }]) => [sumOf(name), b.input(sumOf(name), 'float32', shape)] as const) : [];
  const results = parameters.map(([name], i) => {
    const grad = grads[i] as Value;
    return [gradientOf(name), accumulate ? addedTo(b, sums[i]?.[1] as Value, grad) : grad] as const;
  });
  return {
    forward: { inputs: forwardInputs, outputs: new Map([['y', y], ...named]) },
    backward: { inputs: new Map([...forwardInputs, ['dy', dy], ...named, ...sums]), outputs: new Map([['dx', dx], ...results]) },
    residuals: named,
  };
}

export const layerPrefix = (layer: number) => `model.layers.${layer}.`;
