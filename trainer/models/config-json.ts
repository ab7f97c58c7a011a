import { layouts, type DecoderConfig, type Family } from './decoder-config.ts';
import type { RopeScaling } from './rope.ts';

const architectures: Readonly<Record<Family, string>> = {
  llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM', qwen3: 'Qwen3ForCausalLM', gemma2: 'Gemma2ForCausalLM', gemma3_text: 'Gemma3ForCausalLM',
};

/** The `config.json` that `parseConfig` reads back to the same configuration, in the form that all versions of `transformers` read. */
export function configJson(config: DecoderConfig): Record<string, unknown> {
  const { family, sliding } = config;
  return {
    architectures: [architectures[family]], model_type: family, torch_dtype: 'float32',
    ...(layouts[family].activation === 'silu' ? { hidden_act: 'silu' } : { hidden_activation: 'gelu_pytorch_tanh' }),
    vocab_size: config.vocab, hidden_size: config.hidden, intermediate_size: config.intermediate,
    num_hidden_layers: config.layers, num_attention_heads: config.heads, num_key_value_heads: config.kvHeads, head_dim: config.headDim,
    max_position_embeddings: config.contextLength, rms_norm_eps: config.normEps, rope_theta: config.rope.theta,
    ...(config.rope.scaling ? { rope_scaling: scalingJson(config.rope.scaling) } : {}),
    tie_word_embeddings: config.tied,
    ...(family === 'qwen2' ? {} : { attention_bias: config.attentionBias === 'qkvo' }),
    ...(family === 'qwen2' || family === 'qwen3' ? { use_sliding_window: sliding !== null } : {}),
    ...(sliding ? { sliding_window: sliding.size, layer_types: Array.from({ length: config.layers }, (_, i) => (sliding.layers[i] ? 'sliding_attention' : 'full_attention')) } : {}),
    ...(sliding && family === 'gemma3_text' ? { rope_local_base_freq: sliding.rope.theta } : {}),
    ...(layouts[family].sandwichNorms ? {
      query_pre_attn_scalar: round(1 / config.attentionScale ** 2), attn_logit_softcapping: config.attentionSoftcap, final_logit_softcapping: config.logitSoftcap,
    } : {}),
    attention_dropout: 0, initializer_range: 0.02,
    eos_token_id: config.eosIds.length === 1 ? config.eosIds[0] : config.eosIds,
  };
}

function scalingJson(scaling: RopeScaling): Record<string, unknown> {
  switch (scaling.type) {
    case 'linear': return { rope_type: 'linear', factor: scaling.factor };
    case 'llama3': return {
      rope_type: 'llama3', factor: scaling.factor, low_freq_factor: scaling.lowFreqFactor, high_freq_factor: scaling.highFreqFactor, original_max_position_embeddings: scaling.originalContext,
    };
    case 'yarn': return {
      rope_type: 'yarn', factor: scaling.factor, original_max_position_embeddings: scaling.originalContext, beta_fast: scaling.betaFast, beta_slow: scaling.betaSlow, attention_factor: scaling.attentionFactor,
    };
  }
}

/** 1 / (1 / √n)² is n but for the last bits. */
function round(x: number): number { return Number(x.toPrecision(12)); }

const floats = ['attention_dropout', 'rope_theta', 'rope_local_base_freq', 'factor', 'low_freq_factor', 'high_freq_factor', 'beta_fast', 'beta_slow', 'attention_factor', 'attn_logit_softcapping', 'final_logit_softcapping'];
const wholeFloat = new RegExp(`("(?:${floats.join('|')})": -?\\d+)(?=,?$)`, 'gm');

/** The text of a config.json. JavaScript writes the number 30.0 as 30, which transformers 5 refuses where it expects a float. */
export function configText(json: Record<string, unknown>): string { return `${JSON.stringify(json, null, 2)}\n`.replace(wholeFloat, '$1.0'); }
