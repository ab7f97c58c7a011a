import type { Provider } from '../protocol/providers.ts';
import { requireTensors, type Executable } from './executable.ts';
import type { Graph } from './graph.ts';
import { TrainerError } from '../protocol/errors.ts';
import { generalize } from './onnx/generalize.ts';
import { lower } from './onnx/lower.ts';
import type { OnnxModel } from './onnx/model-proto.ts';
import { profiles } from './onnx/profile.ts';
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
  if (provider === 'tensorflow') return checked(compileTensorFlow(graph, tensorflow ?? await loadTensorFlow()));
  return checked(await compileOnnx(lower(graph, profiles[provider]), provider, threads));
}

/** Whether one compiled graph can serve inputs of many sizes there. */
export function takesAnySize(provider: Provider): boolean { return provider !== 'tensorflow' && profiles[provider].anySize; }

/**
 * Compiles graphs that differ only in the sizes of some axes once, for all sizes; such axes are -1 in the executable's types. Two examples show which they are:
 * two sizes of one axis must differ in them. Throws `internal` when the two come out as different computations, and for providers that take no graph of any size.
 */
export async function compileForAnySize(examples: readonly [Graph, Graph], { provider, threads }: CompileOptions): Promise<Executable> {
  if (provider === 'tensorflow' || !takesAnySize(provider)) throw new TrainerError('internal', `The provider "${provider}" takes no graph of any size.`);
  const [first, second] = examples.map((graph) => lower(graph, profiles[provider])) as [OnnxModel, OnnxModel];
  return checked(await compileOnnx(generalize(first, second), provider, threads));
}

function checked(executable: Executable): Executable {
  return {
    ...executable,
    async run(feeds, into = {}) {
      requireTensors(feeds, executable.inputs, 'input');
      requireTensors(into, executable.outputs, 'output', true);
      return executable.run(feeds, into);
    },
  };
}
