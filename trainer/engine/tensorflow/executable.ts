import { messageOf, TrainerError } from '../../protocol/errors.ts';
import type { Executable, Tensors } from '../executable.ts';
import type { Call, Graph, Value } from '../graph.ts';
import { reachableCalls } from '../reachable.ts';
import { wrap, type DType, type Tensor, type TensorData } from '../tensor.ts';
import { tfDType, type TensorFlow, type TfTensor } from './types.ts';

/**
 * Prepares a graph for TensorFlow.js, which computes it call by call at each run. Constants are on the device until `release`;
 * every other value until its last use. Throws `environment` for element types that TensorFlow.js has not.
 */
export function compileTensorFlow(graph: Graph, tf: TensorFlow): Executable {
  if (graph.outputs.size === 0) throw new TrainerError('internal', 'compile: the graph has no outputs; name one with output()');
  const calls = reachableCalls(graph.outputs.values(), new Set(graph.inputs.values()));
  for (const { op, outputs } of calls) for (const { dtype } of outputs) tfDType(op.name, dtype);
  const inputs = new Map(graph.inputs);
  const outputs = new Map(graph.outputs);
  const used = [...calls.flatMap((call) => call.inputs), ...outputs.values()];
  const constants = new Map<Value, TfTensor>();
  for (const value of used) if (value.source.kind === 'constant' && !constants.has(value)) constants.set(value, upload(tf, value.source.tensor));
  const lastCall = lastUses(calls, outputs.values());

  return {
    inputs,
    outputs,
    async run(feeds, into = {}) {
      const live = new Map<Value, TfTensor>();
      try {
        for (const call of calls) {
          compute(tf, call, (value) => constants.get(value) ?? live.get(value) ?? fed(tf, value, feeds, live)).forEach((result, i) => live.set(call.outputs[i] as Value, result));
          for (const value of [...call.inputs, ...call.outputs]) if (lastCall.get(value) === undefined || lastCall.get(value) === call) drop(live, value);
        }
        const results: Record<string, Tensor> = {};
        for (const [name, value] of outputs) results[name] = await download(constants.get(value) ?? live.get(value) ?? fed(tf, value, feeds, live), value);
        // Only now: `into` may be the memory of inputs.
        return Object.fromEntries(Object.entries(results).map(([name, result]) => [name, written(result, into[name])]));
      } finally {
        for (const tensor of live.values()) tensor.dispose();
      }
    },
    async release() {
      for (const tensor of constants.values()) tensor.dispose();
      constants.clear();
    },
  };
}

/** The last call that uses a value; null for the graph's outputs, which are needed after all calls. */
function lastUses(calls: readonly Call[], outputs: Iterable<Value>): Map<Value, Call | null> {
  const last = new Map<Value, Call | null>();
  for (const call of calls) for (const value of call.inputs) last.set(value, call);
  for (const value of outputs) last.set(value, null);
  return last;
}

function drop(live: Map<Value, TfTensor>, value: Value): void {
  live.get(value)?.dispose();
  live.delete(value);
}

function compute(tf: TensorFlow, call: Call, get: (value: Value) => TfTensor): TfTensor[] {
  const inputs = call.inputs.map(get);
  try {
    return tf.tidy(() => {
      const results = call.op.tensorflow(tf, { inputs, types: call.inputs, outputs: call.outputs, attrs: call.attrs });
      return results.map((result) => (inputs.includes(result) ? tf.clone(result) : result)); // each value has a tensor of its own to dispose of
    });
  } catch (cause) {
    throw new TrainerError('internal', `Running the graph failed in ${call.op.name}#${call.id}: ${messageOf(cause)}`, { cause });
  }
}

/** An input's tensor, made at its first use. */
function fed(tf: TensorFlow, value: Value, feeds: Tensors, live: Map<Value, TfTensor>): TfTensor {
  const given = value.source.kind === 'input' ? feeds[value.source.name] : undefined;
  if (!given) throw new TrainerError('internal', 'compile: a value of another graph was used');
  const tensor = upload(tf, given);
  live.set(value, tensor);
  return tensor;
}

function upload(tf: TensorFlow, { dtype, shape, data }: Tensor): TfTensor {
  const values = data instanceof BigInt64Array ? Int32Array.from(data, Number) : data;
  return tf.tensor(values, [...shape], tfDType('constants and inputs', dtype));
}

async function download(tensor: TfTensor, { dtype, shape }: Value): Promise<Tensor> {
  const data = await tensor.data();
  // A backend in this process's memory gives its own array, or the caller's.
  const own = dtype === 'int64' ? BigInt64Array.from(data as Int32Array, BigInt) : data.slice();
  return wrap(dtype, shape, own as TensorData[DType]);
}

function written(result: Tensor, into: Tensor | undefined): Tensor {
  if (!into) return result;
  (into.data as Float32Array).set(result.data as Float32Array);
  return into;
}
