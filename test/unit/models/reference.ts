import type { Qwen2Config } from '../../../trainer/models/config.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';

/** Qwen2 forward pass of one row in plain float64, written from the formulas and sharing nothing with the graph: logits [T][V]. */
export function referenceLogits(config: Qwen2Config, weights: ParameterBlock, tokens: readonly number[]): number[][] {
  const get = (name: string) => weights.tensors.get(name)!.data;
  const { hidden, heads, kvHeads, headDim, intermediate, vocab } = config;
  const embedding = get('model.embed_tokens.weight');
  let x = tokens.map((token) => Array.from(embedding.subarray(token * hidden, (token + 1) * hidden), Number));
  for (let layer = 0; layer < config.layers; layer++) {
    const w = (name: string) => get(`model.layers.${layer}.${name}`);
    const h = x.map((row) => rmsNorm(row, w('input_layernorm.weight'), config.normEps));
    const project = (row: number[], name: string, width: number) => linear(row, w(`self_attn.${name}.weight`), width, w(`self_attn.${name}.bias`));
    const q = h.map((row, t) => rotateHeads(project(row, 'q_proj', heads * headDim), t, config));
    const k = h.map((row, t) => rotateHeads(project(row, 'k_proj', kvHeads * headDim), t, config));
    const v = h.map((row) => project(row, 'v_proj', kvHeads * headDim));
    const attended = tokens.map((_, t) => {
      const out: number[] = [];
      for (let head = 0; head < heads; head++) {
        const kv = Math.floor(head / (heads / kvHeads));
        const part = (row: number[], n: number) => row.slice(n * headDim, (n + 1) * headDim);
        const scores = k.slice(0, t + 1).map((key) => dot(part(q[t]!, head), part(key, kv)) / Math.sqrt(headDim));
        const p = softmax(scores);
        for (let d = 0; d < headDim; d++) out.push(p.reduce((sum, pi, s) => sum + pi * v[s]![kv * headDim + d]!, 0));
      }
      return linear(out, w('self_attn.o_proj.weight'), hidden);
    });
    x = x.map((row, t) => row.map((value, i) => value + attended[t]![i]!));
    x = x.map((row) => {
      const f = rmsNorm(row, w('post_attention_layernorm.weight'), config.normEps);
      const gate = linear(f, w('mlp.gate_proj.weight'), intermediate);
      const up = linear(f, w('mlp.up_proj.weight'), intermediate);
      const down = linear(gate.map((g, i) => (g / (1 + Math.exp(-g))) * up[i]!), w('mlp.down_proj.weight'), hidden);
      return row.map((value, i) => value + down[i]!);
    });
  }
  const head = get(config.tied ? 'model.embed_tokens.weight' : 'lm_head.weight');
  return x.map((row) => linear(rmsNorm(row, get('model.norm.weight'), config.normEps), head, vocab));
}

export function referenceLogprobs(config: Qwen2Config, weights: ParameterBlock, tokens: readonly number[], temperature = 1): number[] {
  const logits = referenceLogits(config, weights, tokens);
  return tokens.map((token, t) => (t === 0 ? 0 : Math.log(softmax(logits[t - 1]!.map((z) => z / temperature))[token]!)));
}

export function softmax(x: number[]): number[] {
  const max = Math.max(...x);
  const e = x.map((v) => Math.exp(v - max));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((v) => v / sum);
}

function dot(a: number[], b: number[]): number { return a.reduce((sum, v, i) => sum + v * b[i]!, 0); }

function linear(x: number[], weight: Float32Array, width: number, bias?: Float32Array): number[] {
  return Array.from({ length: width }, (_, o) => x.reduce((sum, v, i) => sum + v * weight[o * x.length + i]!, bias?.[o] ?? 0));
}

function rmsNorm(x: number[], weight: Float32Array, eps: number): number[] {
  const r = 1 / Math.sqrt(dot(x, x) / x.length + eps);
  return x.map((v, i) => v * r * weight[i]!);
}

function rotateHeads(row: number[], position: number, { headDim, ropeTheta }: Qwen2Config): number[] {
  const half = headDim / 2;
  return row.map((value, i) => {
    const at = i % headDim;
    const angle = position * ropeTheta ** (-(2 * (at % half)) / headDim);
    const partner = at < half ? -row[i + half]! : row[i - half]!;
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}
