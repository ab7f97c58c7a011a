import { availableParallelism } from 'node:os';
import * as ort from 'onnxruntime-node';
import { TrainerError, messageOf } from '../../protocol/errors.ts';
import type { Executable, Tensors } from '../executable.ts';
import { isOutOfMemory, outOfMemory } from '../out-of-memory.ts';
import { anyDim, describe, wrap, type DType, type Tensor, type TensorData, type ValueType } from '../tensor.ts';
import type { DynamicType } from './dynamic-axes.ts';
import { encodeModel, type OnnxModel } from './model-proto.ts';
import type { OnnxProvider } from './profile.ts';

// Failures are thrown with their text; ONNX Runtime would print them a second time.
ort.env.logLevel = 'fatal';

/** Compiles a lowered graph with ONNX Runtime; see `compile`. */
export async function compileOnnx(model: OnnxModel, provider: OnnxProvider, threads: number | undefined): Promise<Executable> {
  const session = await createSession(model, provider, threads);
  const [inputs, outputs] = [executableTypes(model.inputs), executableTypes(model.outputs)];
  return {
    inputs,
    outputs,
    async run(feeds, into = {}) {
      const fetches: Record<string, ort.Tensor | null> = Object.fromEntries([...outputs.keys()].map((name) => [name, null]));
      const results = await runSession(session, toOrt(feeds), { ...fetches, ...toOrt(into) });
      return Object.fromEntries([...outputs].map(([name, type]) => [name, into[name] ?? fromOrt(results[name], type)]));
    },
    release: () => session.release(),
  };
}

function executableTypes(types: ReadonlyMap<string, DynamicType>): Map<string, ValueType> {
  return new Map([...types].map(([name, { dtype, shape }]) => [name, { dtype, shape: shape.map((dim) => (typeof dim === 'number' ? dim : anyDim)) }]));
}

async function createSession(model: OnnxModel, provider: OnnxProvider, threads: number | undefined): Promise<ort.InferenceSession> {
  const { bytes, external } = encodeModel(model);
  // ONNX Runtime's extended fusions make float64 operators that it has no kernels for.
  const double = [...model.inputs.values(), ...model.initializers.values()].some((type) => type.dtype === 'float64');
  try {
    return await ort.InferenceSession.create(bytes, {
      executionProviders: [provider],
      externalData: external,
      graphOptimizationLevel: double ? 'basic' : 'all',
      // Left out, ONNX Runtime would tie each thread to a core of its own, which others may be using.
      intraOpNumThreads: threads ?? availableParallelism(),
      // DirectML refuses planned memory.
      enableMemPattern: provider !== 'dml',
      logSeverityLevel: 4,
      extra: {
        session: {
          // Waiting threads that spin take the cores from agents and other sessions: with busy cores a step took twice the time.
          intra_op: { allow_spinning: '0' },
          // An operator silently moved to the CPU would hide a missing kernel behind a slow run.
          ...(provider === 'cpu' ? {} : { disable_cpu_ep_fallback: '1' }),
        },
      },
    });
  } catch (cause) {
    if (isOutOfMemory(cause)) throw outOfMemory(cause);
    throw new TrainerError('environment', `The graph cannot be compiled for the provider "${provider}": ${messageOf(cause)}${provider === 'cpu' ? '' : ' "agent-trainer hardware" shows what this machine can use.'}`, { cause });
  }
}

async function runSession(session: ort.InferenceSession, feeds: Record<string, ort.Tensor>, fetches: Record<string, ort.Tensor | null>) {
  try {
    return await session.run(feeds, fetches);
  } catch (cause) {
    if (isOutOfMemory(cause)) throw outOfMemory(cause);
    const text = messageOf(cause);
    // ONNX Runtime names the failing node, and our nodes are named after the IR call.
    const where = /Name:'([^']+)'/.exec(text)?.[1];
    throw new TrainerError('internal', `Running the graph failed${where ? ` in ${where}` : ''}: ${text}`, { cause });
  }
}

function toOrt(tensors: Tensors): Record<string, ort.Tensor> {
  const one = ({ dtype, shape, data }: Tensor) => new ort.Tensor(dtype, data as ort.Tensor['data'] & Float32Array, [...shape]);
  return Object.fromEntries(Object.entries(tensors).map(([name, value]) => [name, one(value)]));
}

function fromOrt(result: ort.Tensor | undefined, type: ValueType): Tensor {
  if (!result) throw new TrainerError('internal', `run: ONNX Runtime returned no output of type ${describe(type)}`);
  return wrap(type.dtype, result.dims, result.data as TensorData[DType]);
}
