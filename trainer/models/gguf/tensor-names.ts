import { layouts, type DecoderConfig } from '../decoder-config.ts';

const outer: Readonly<Record<string, string>> = { 'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', 'lm_head': 'output' };
const inLayer: Readonly<Record<string, string>> = {
  'input_layernorm': 'attn_norm', 'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
};
const plainNorms: Readonly<Record<string, string>> = { 'post_attention_layernorm': 'ffn_norm' };
const sandwichNorms: Readonly<Record<string, string>> = {
  'post_attention_layernorm': 'post_attention_norm', 'pre_feedforward_layernorm': 'ffn_norm', 'post_feedforward_layernorm': 'post_ffw_norm',
};

/** llama.cpp's name of a parameter: `model.layers.3.self_attn.q_proj.weight` is `blk.3.attn_q.weight`. */
export function ggufName(parameter: string, { family }: DecoderConfig): string {
  const [, layer, name = '', kind = ''] = /^(?:model\.layers\.(\d+)\.)?(.*)\.(weight|bias)$/.exec(parameter) ?? [];
  const norms = layouts[family].sandwichNorms ? sandwichNorms : plainNorms;
  return layer === undefined ? `${outer[name]}.${kind}` : `blk.${layer}.${inLayer[name] ?? norms[name]}.${kind}`;
}

/** What a GGUF file stores for a parameter, and the parameter from it. Both work in place. */
export function stored(parameter: string, config: DecoderConfig): { toFile(values: Float32Array): void; fromFile(values: Float32Array): void } {
  const { normOffset } = layouts[config.family];
  if (normOffset !== 0 && parameter.endsWith('norm.weight')) {
    const shift = (values: Float32Array, by: number) => { for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) + by; };
    return { toFile: (values) => shift(values, normOffset), fromFile: (values) => shift(values, -normOffset) };
  }
  const heads = config.family !== 'llama' ? null : /\.q_proj\./.test(parameter) ? config.heads : /\.k_proj\./.test(parameter) ? config.kvHeads : null;
  if (heads === null) return { toFile: () => undefined, fromFile: () => undefined };
  // llama.cpp rotates neighbours in Llama layouts: row 2j + s of a head in the file is row s·headDim/2 + j.
  const half = config.headDim / 2;
  const permute = (values: Float32Array, rowOf: (row: number) => number) => {
    const columns = values.length / (heads * config.headDim);
    for (let head = 0; head < heads; head++) {
      const part = values.subarray(head * config.headDim * columns, (head + 1) * config.headDim * columns);
      const source = part.slice();
      for (let row = 0; row < config.headDim; row++) part.set(source.subarray(rowOf(row) * columns, (rowOf(row) + 1) * columns), row * columns);
    }
  };
  return {
    toFile: (values) => permute(values, (row) => (row % 2) * half + Math.floor(row / 2)),
    fromFile: (values) => permute(values, (row) => 2 * (row % half) + Math.floor(row / half)),
  };
}
