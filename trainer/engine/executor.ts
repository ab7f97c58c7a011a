import type { Provider } from '../protocol/providers.ts';
import type { Executable } from './executable.ts';
import type { Graph } from './graph.ts';
import { compileOnnx } from './onnx/session.ts';
import { compileTensorFlow } from './tensorflow/executable.ts';
import { loadTensorFlow } from './tensorflow/load.ts';
import type { TensorFlow } from './tensorflow/types.ts';

export type { Executable, Tensors } from './executable.ts';

export interface CompileOptions {
  readonly provider: Provider;
  /** Threads inside one operator on the CPU; all cores when left out. Results are bitwise repeatable for the same number. */
  readonly threads?: number;
  /** What the provider "tensorflow" computes with, in place of the package that is installed. */
  readonly tensorflow?: TensorFlow;
}

/** Compiles a graph for a provider. Throws `environment` when the provider is missing or cannot run an operator. */
export async function compile(graph: Graph, { provider, threads, tensorflow }: CompileOptions): Promise<Executable> {
  if (provider === 'tensorflow') return compileTensorFlow(graph, tensorflow ?? await loadTensorFlow());
  return compileOnnx(graph, provider, threads);
}
