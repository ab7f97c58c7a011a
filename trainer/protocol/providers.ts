/**
 * What the engine can run on: ONNX Runtime's execution providers by the names they have in onnxruntime-node
 * (`dml` is DirectML), and TensorFlow.js.
 */
export const providers = ['cpu', 'cuda', 'webgpu', 'dml', 'coreml', 'tensorflow'] as const;
export type Provider = (typeof providers)[number];
