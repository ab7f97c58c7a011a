import { elementCount } from '../engine/tensor.ts';
import { layouts, type DecoderConfig } from './decoder-config.ts';

/** Names (as Hugging Face gives them) and shapes ([out, in] for matrices) of a decoder's parameters, in file order. */
export function parameterShapes(c: DecoderConfig): Map<string, number[]> {
  const shapes = new Map<string, number[]>([['model.embed_tokens.weight', [c.vocab, c.hidden]]]);
  const { qkNorm, sandwichNorms } = layouts[c.family];
  const [queryWidth, kvWidth] = [c.heads * c.headDim, c.kvHeads * c.headDim];
  for (let i = 0; i < c.layers; i++) {
    const at = (name: string, shape: number[]) => shapes.set(`model.layers.${i}.${name}`, shape);
    const attention = (name: string, [out, input]: [number, number], biased: boolean) => {
      at(`self_attn.${name}.weight`, [out, input]);
      if (biased) at(`self_attn.${name}.bias`, [out]);
    };
    at('input_layernorm.weight', [c.hidden]);
    attention('q_proj', [queryWidth, c.hidden], c.attentionBias !== 'none');
    attention('k_proj', [kvWidth, c.hidden], c.attentionBias !== 'none');
    attention('v_proj', [kvWidth, c.hidden], c.attentionBias !== 'none');
    attention('o_proj', [c.hidden, queryWidth], c.attentionBias === 'qkvo');
    if (qkNorm) for (const name of ['q_norm', 'k_norm']) at(`self_attn.${name}.weight`, [c.headDim]);
    at('post_attention_layernorm.weight', [c.hidden]);
    if (sandwichNorms) for (const name of ['pre', 'post']) at(`${name}_feedforward_layernorm.weight`, [c.hidden]);
    at('mlp.gate_proj.weight', [c.intermediate, c.hidden]);
    at('mlp.up_proj.weight', [c.intermediate, c.hidden]);
    at('mlp.down_proj.weight', [c.hidden, c.intermediate]);
  }
  shapes.set('model.norm.weight', [c.hidden]);
  if (!c.tied) shapes.set('lm_head.weight', [c.vocab, c.hidden]);
  return shapes;
}

export function parameterCount(config: DecoderConfig): number {
  return [...parameterShapes(config).values()].reduce((sum, shape) => sum + elementCount(shape), 0);
}
