import { layouts, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';

/** Forward pass of one row in plain float64, written from the formulas and sharing nothing with the graph: logits [T][V]. */
export function referenceLogits(config: DecoderConfig, weights: ParameterBlock, tokens: readonly number[]): number[][] {
  const get = (name: string) => weights.tensors.get(name)!.data;
  const { hidden, heads, kvHeads, headDim, intermediate, vocab, sliding } = config;
  const layout = layouts[config.family];
  const norm = (row: number[], name: string) => rmsNorm(row, get(name), config.normEps, layout.normOffset);
  const embedding = get('model.embed_tokens.weight');
  let x = tokens.map((token) => Array.from(embedding.subarray(token * hidden, (token + 1) * hidden), (e) => (layout.scaledEmbeddings ? e * Math.sqrt(hidden) : e)));
  for (let layer = 0; layer < config.layers; layer++) {
    const at = (name: string) => `model.layers.${layer}.${name}`;
    const w = (name: string) => get(at(name));
    const [window, { theta }] = sliding?.layers[layer] ? [sliding.size, sliding.rope] : [Infinity, config.rope];
    const h = x.map((row) => norm(row, at('input_layernorm.weight')));
    const project = (row: number[], name: string, width: number) => linear(row, w(`self_attn.${name}.weight`), width, weights.tensors.get(at(`self_attn.${name}.bias`))?.data);
    const perHead = (row: number[], f: (part: number[]) => number[]) => Array.from({ length: row.length / headDim }, (_, n) => f(row.slice(n * headDim, (n + 1) * headDim))).flat();
    const headNorm = (row: number[], name: string) => (layout.qkNorm ? perHead(row, (part) => norm(part, at(`self_attn.${name}.weight`))) : row);
    const q = h.map((row, t) => perHead(headNorm(project(row, 'q_proj', heads * headDim), 'q_norm'), (part) => rotate(part, t, theta)));
    const k = h.map((row, t) => perHead(headNorm(project(row, 'k_proj', kvHeads * headDim), 'k_norm'), (part) => rotate(part, t, theta)));
    const v = h.map((row) => project(row, 'v_proj', kvHeads * headDim));
    const attended = tokens.map((_, t) => {
      const out: number[] = [];
      const first = Math.max(0, t - window + 1);
      for (let head = 0; head < heads; head++) {
        const kv = Math.floor(head / (heads / kvHeads));
        const part = (row: number[], n: number) => row.slice(n * headDim, (n + 1) * headDim);
        const scores = k.slice(first, t + 1).map((key) => cap(dot(part(q[t]!, head), part(key, kv)) * config.attentionScale, config.attentionSoftcap));
        const p = softmax(scores);
        for (let d = 0; d < headDim; d++) out.push(p.reduce((sum, pi, s) => sum + pi * v[first + s]![kv * headDim + d]!, 0));
      }
      return project(out, 'o_proj', hidden);
    });
    x = x.map((row, t) => add(row, layout.sandwichNorms ? norm(attended[t]!, at('post_attention_layernorm.weight')) : attended[t]!));
    x = x.map((row) => {
      const f = norm(row, at(layout.sandwichNorms ? 'pre_feedforward_layernorm.weight' : 'post_attention_layernorm.weight'));
      const gate = linear(f, w('mlp.gate_proj.weight'), intermediate);
      const up = linear(f, w('mlp.up_proj.weight'), intermediate);
      const down = linear(gate.map((g, i) => (layout.activation === 'silu' ? silu(g) : gelu(g)) * up[i]!), w('mlp.down_proj.weight'), hidden);
      return add(row, layout.sandwichNorms ? norm(down, at('post_feedforward_layernorm.weight')) : down);
    });
  }
  const head = get(config.tied ? 'model.embed_tokens.weight' : 'lm_head.weight');
  return x.map((row) => linear(norm(row, 'model.norm.weight'), head, vocab).map((logit) => cap(logit, config.logitSoftcap)));
}

export function referenceLogprobs(config: DecoderConfig, weights: ParameterBlock, tokens: readonly number[], temperature = 1): number[] {
  const logits = referenceLogits(config, weights, tokens);
  return tokens.map((token, t) => (t === 0 ? 0 : Math.log(softmax(logits[t - 1]!.map((z) => z / temperature))[token]!)));
}

export function softmax(x: number[]): number[] {
  const max = Math.max(...x);
  const e = x.map((v) => Math.exp(v - max));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((v) => v / sum);
}

const silu = (x: number) => x / (1 + Math.exp(-x));
const gelu = (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
const cap = (x: number, limit: number | null) => (limit === null ? x : limit * Math.tanh(x / limit));

function dot(a: number[], b: number[]): number { return a.reduce((sum, v, i) => sum + v * b[i]!, 0); }
function add(a: number[], b: number[]): number[] { return a.map((v, i) => v + b[i]!); }

function linear(x: number[], weight: Float32Array, width: number, bias?: Float32Array): number[] {
  return Array.from({ length: width }, (_, o) => x.reduce((sum, v, i) => sum + v * weight[o * x.length + i]!, bias?.[o] ?? 0));
}

function rmsNorm(x: number[], weight: Float32Array, eps: number, offset: number): number[] {
  const r = 1 / Math.sqrt(dot(x, x) / x.length + eps);
  return x.map((v, i) => v * r * (offset + weight[i]!));
}

function rotate(head: number[], position: number, theta: number): number[] {
  const half = head.length / 2;
  return head.map((value, i) => {
    const angle = position * theta ** (-(2 * (i % half)) / head.length);
    const partner = i < half ? -head[i + half]! : head[i - half]!;
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}
