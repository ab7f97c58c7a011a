import { z } from 'zod';

/**
 * What the engine can run on: ONNX Runtime's execution providers by the names they have in onnxruntime-node
 * (`dml` is DirectML), and TensorFlow.js.
 */
export const providers = ['cpu', 'cuda', 'webgpu', 'dml', 'coreml', 'tensorflow'] as const;
export const Provider = z.enum(providers);
export type Provider = z.infer<typeof Provider>;

export const providerLabels: Readonly<Record<Provider, string>> = {
  cpu: 'CPU', cuda: 'CUDA', webgpu: 'WebGPU', dml: 'DirectML', coreml: 'CoreML', tensorflow: 'TensorFlow.js',
};

/** Medians of steps of a small piece of the model, in milliseconds; `per_token`: to sample a token in a batch and to train on it. */
export const ProviderTiming = z.object({ train_ms: z.number(), decode_ms: z.number(), per_token: z.number() });
export type ProviderTiming = z.infer<typeof ProviderTiming>;

/** A provider that this platform could have: why it is not used, or how fast it was (null: there was nothing to compare it with). */
export const ProviderTrial = z.union([
  z.object({ provider: Provider, refused: z.string() }),
  z.object({ provider: Provider, refused: z.null(), timing: ProviderTiming.nullable() }),
]);
export type ProviderTrial = z.infer<typeof ProviderTrial>;

/** The fastest provider that computes right, what makes it so, and all that were tried. */
export const ProviderChoice = z.object({ provider: Provider, reason: z.string(), trials: z.array(ProviderTrial) });
export type ProviderChoice = z.infer<typeof ProviderChoice>;
