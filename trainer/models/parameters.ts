import type { Qwen2Config } from './config.ts';

/** Names (as Hugging Face gives them) and shapes ([out, in] for matrices) of a Qwen2 model's parameters, in file order. */
export function parameterShapes(c: Qwen2Config): Map<string, number[]> {
  const shapes = new Map<string, number[]>([['model.embed_tokens.weight', [c.vocab, c.hidden]]]);
  const [queryWidth, kvWidth] = [c.heads * c.headDim, c.kvHeads * c.headDim];
  for (let i = 0; i < c.layers; i++) {
    const at = (name: string, shape: number[]) => shapes.set(`model.layers.${i}.${name}`, shape);
    at('input_layernorm.weight', [c.hidden]);
    at('self_attn.q_proj.weight', [queryWidth, c.hidden]);
    at('self_attn.q_proj.bias', [queryWidth]);
    at('self_attn.k_proj.weight', [kvWidth, c.hidden]);
    at('self_attn.k_proj.bias', [kvWidth]);
    at('self_attn.v_proj.weight', [kvWidth, c.hidden]);
    at('self_attn.v_proj.bias', [kvWidth]);
    at('self_attn.o_proj.weight', [c.hidden, queryWidth]);
    at('post_attention_layernorm.weight', [c.hidden]);
    at('mlp.gate_proj.weight', [c.intermediate, c.hidden]);
    at('mlp.up_proj.weight', [c.intermediate, c.hidden]);
    at('mlp.down_proj.weight', [c.hidden, c.intermediate]);
  }
  shapes.set('model.norm.weight', [c.hidden]);
  if (!c.tied) shapes.set('lm_head.weight', [c.vocab, c.hidden]);
  return shapes;
}
