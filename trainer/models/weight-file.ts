/** Weights in files, read one parameter at a time so that a model is never in memory twice. */
export interface WeightFile {
  /** By the parameters' Hugging Face names. */
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  /** Values of a parameter as float32. */
  read(name: string, into: Float32Array): Promise<void>;
  close(): Promise<void>;
}
