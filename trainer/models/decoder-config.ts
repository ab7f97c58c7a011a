import type { Rope } from './rope.ts';

/** Model families, by the `model_type` of their Hugging Face config.json. Qwen2.5 is a Qwen2; SmolLM2 is a Llama. */
export const families = ['llama', 'qwen2', 'qwen3', 'gemma2', 'gemma3_text'] as const;
export type Family = (typeof families)[number];

/** What a family fixes, whatever the sizes of the model. */
export interface Layout {
  /** RMSNorm over each head of the queries and keys, before the rotary embedding. */
  qkNorm: boolean;
  /** Norms after attention and feed-forward as well, before their results join the residual. */
  sandwichNorms: boolean;
  /** Added to the weights of every RMSNorm: Gemma's are stored as their difference from 1. */
  normOffset: 0 | 1;
  activation: 'silu' | 'geluTanh';
  /** Embeddings are multiplied by √hidden. */
  scaledEmbeddings: boolean;
}

const plain: Layout = { qkNorm: false, sandwichNorms: false, normOffset: 0, activation: 'silu', scaledEmbeddings: false };
const gemma: Layout = { qkNorm: false, sandwichNorms: true, normOffset: 1, activation: 'geluTanh', scaledEmbeddings: true };

export const layouts: Readonly<Record<Family, Layout>> = {
  llama: plain,
  qwen2: plain,
  qwen3: { ...plain, qkNorm: true },
  gemma2: gemma,
  gemma3_text: { ...gemma, qkNorm: true },
};

/** Sizes in elements, `contextLength` in tokens. */
export interface DecoderSizes {
  vocab: number;
  hidden: number;
  intermediate: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  contextLength: number;
}

/** A decoder-only transformer, as much as decides the computation. */
export interface DecoderConfig extends DecoderSizes {
  family: Family;
  normEps: number;
  rope: Rope;
  /** Layers that see the last `size` tokens only (the token itself is one of them), with a rotary embedding of their own. */
  sliding: { size: number; layers: readonly boolean[]; rope: Rope } | null;
  /** Projections of the attention that add a bias. */
  attentionBias: 'none' | 'qkv' | 'qkvo';
  /** Scores are multiplied by it. */
  attentionScale: number;
  /** x becomes cap·tanh(x / cap) for attention scores and for logits. */
  attentionSoftcap: number | null;
  logitSoftcap: number | null;
  /** The output matrix is the embedding table. */
  tied: boolean;
  eosIds: number[];
}

/** A decoder of a family with everything else as most models have it. */
export function decoderConfig(family: Family, sizes: DecoderSizes, others: Partial<DecoderConfig> = {}): DecoderConfig {
  return {
    ...sizes, family, normEps: 1e-6, rope: { theta: 10_000, scaling: null }, sliding: null, attentionBias: family === 'qwen2' ? 'qkv' : 'none',
    attentionScale: 1 / Math.sqrt(sizes.headDim), attentionSoftcap: null, logitSoftcap: null, tied: true, eosIds: [], ...others,
  };
}
