import { availableParallelism } from 'node:os';
import * as ort from 'onnxruntime-node';
import { TrainerError, messageOf } from '../protocol/errors.ts';
import type { Graph } from './graph.ts';
import { generalize } from './onnx/generalize.ts';
import { lower } from './onnx/lower.ts';
import { anyDim, encodeModel, type OnnxModel } from './onnx/model-proto.ts';
import { profiles, type Provider } from './onnx/profile.ts';
import { describe, wrap, type DType, type Tensor, type Shape, type TensorData, type ValueType } from './tensor.ts';

// Failures are thrown with their text; ONNX Runtime would print them a second time.
ort.env.logLevel = 'fatal';

export interface CompileOptions {
  readonly provider: Provider;
  /** Threads inside one operator on the CPU; all cores when left out. Results are bitwise repeatable for the same number. */
  readonly threads?: number;
}

export type Tensors = Readonly<Record<string, Tensor>>;

/** A compiled graph. `run` blocks the JavaScript thread while it computes: use a worker thread beside anything that must answer. */
export interface Executable {
  readonly inputs: ReadonlyMap<string, ValueType>;
  readonly outputs: ReadonlyMap<string, ValueType>;
  /**
   * Feeds every input and returns every output. Outputs named in `into` are written to that memory (no allocation, no copy on
   * the CPU); such a tensor may also be an input whose last use is the output's own computation, as in an optimiser step.
   */
  run(feeds: Tensors, into?: Tensors): Promise<Record<string, Tensor>>;
  release(): Promise<void>;
}

/** Compiles a graph for a provider. Throws `environment` when the provider is missing or cannot run an operator. */
export async function compile(graph: Graph, options: CompileOptions): Promise<Executable> {
  return executable(lower(graph, profiles[options.provider]), options);
}

/**
 * Compiles graphs that differ only in the sizes of some axes once, for all sizes; such axes are -1 in the executable's types. Two examples show which they are:
 * two sizes of one axis must differ in them. Throws `internal` when the two come out as different computations. For providers with `anySize`.
 */
export async function compileForAnySize(examples: readonly [Graph, Graph], options: CompileOptions): Promise<Executable> {
  const [first, second] = examples.map((graph) => lower(graph, profiles[options.provider])) as [OnnxModel, OnnxModel];
  return executable(generalize(first, second), options);
}

async function executable(model: OnnxModel, options: CompileOptions): Promise<Executable> {
  const session = await createSession(model, options);
  const { inputs, outputs } = model;
  return {
    inputs,
    outputs,
    async run(feeds, into = {}) {
      const ortFeeds = toOrt(feeds, inputs, 'input');
      const fetches: Record<string, ort.Tensor | null> = Object.fromEntries([...outputs.keys()].map((name) => [name, null]));
      Object.assign(fetches, toOrt(into, outputs, 'output', true));
      const results = await runSession(session, ortFeeds, fetches);
      return Object.fromEntries([...outputs].map(([name, type]) => [name, into[name] ?? fromOrt(results[name], type)]));
    },
    release: () => session.release(),
  };
}

async function createSession(model: OnnxModel, options: CompileOptions): Promise<ort.InferenceSession> {
  const { bytes, external } = encodeModel(model);
  // ONNX Runtime's extended fusions make float64 operators that it has no kernels for.
  const double = [...model.inputs.values(), ...model.initializers.values()].some((type) => type.dtype === 'float64');
  try {
    return await ort.InferenceSession.create(bytes, {
      executionProviders: [options.provider],
      externalData: external,
      graphOptimizationLevel: double ? 'basic' : 'all',
      // Left out, ONNX Runtime would tie each thread to a core of its own, which others may be using.
      intraOpNumThreads: options.threads ?? availableParallelism(),
      logSeverityLevel: 4,
      extra: {
        session: {
          // Waiting threads that spin take the cores from agents and other sessions: with busy cores a step took twice the time.
          intra_op: { allow_spinning: '0' },
          // An operator silently moved to the CPU would hide a missing kernel behind a slow run.
          ...(options.provider === 'cpu' ? {} : { disable_cpu_ep_fallback: '1' }),
        },
      },
    });
  } catch (cause) {
    throw new TrainerError('environment', `The graph cannot be compiled for the provider "${options.provider}": ${messageOf(cause)}`, { cause });
  }
}

async function runSession(session: ort.InferenceSession, feeds: Record<string, ort.Tensor>, fetches: Record<string, ort.Tensor | null>) {
  try {
    return await session.run(feeds, fetches);
  } catch (cause) {
    const text = messageOf(cause);
    // ONNX Runtime names the failing node, and our nodes are named after the IR call.
    const where = /Name:'([^']+)'/.exec(text)?.[1];
    throw new TrainerError('internal', `Running the graph failed${where ? ` in ${where}` : ''}: ${text}`, { cause });
  }
}

function toOrt(tensors: Tensors, types: ReadonlyMap<string, ValueType>, role: 'input' | 'output', partial = false): Record<string, ort.Tensor> {
  for (const name of Object.keys(tensors)) {
    if (!types.has(name)) throw new TrainerError('internal', `run: the graph has no ${role} "${name}"; it has ${[...types.keys()].join(', ')}`);
  }
  const result: Record<string, ort.Tensor> = {};
  for (const [name, type] of types) {
    const given = tensors[name];
    if (!given) {
      if (partial) continue;
      throw new TrainerError('internal', `run: ${role} "${name}" of type ${describe(type)} is missing`);
    }
    if (given.dtype !== type.dtype || !hasShape(given.shape, type.shape)) {
      throw new TrainerError('internal', `run: ${role} "${name}" must be ${describe(type)}, got ${describe(given)}`);
    }
    result[name] = new ort.Tensor(given.dtype, given.data as ort.Tensor['data'] & Float32Array, [...given.shape]);
  }
  return result;
}

function fromOrt(result: ort.Tensor | undefined, type: ValueType): Tensor {
  if (!result) throw new TrainerError('internal', `run: ONNX Runtime returned no output of type ${describe(type)}`);
  return wrap(type.dtype, result.dims, result.data as TensorData[DType]);
}

function hasShape(shape: Shape, declared: Shape): boolean {
  return shape.length === declared.length && shape.every((dim, i) => declared[i] === anyDim || dim === declared[i]);
}
