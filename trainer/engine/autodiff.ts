import { TrainerError } from '../protocol/errors.ts';
import type { Call, GraphBuilder, Value } from './graph.ts';
import { scatterAddElements, scatterAddRows } from './ops/indexing.ts';
import { matmul } from './ops/linear.ts';
import { describe, isFloat } from './tensor.ts';

/**
 * Reverse-mode differentiation: ∂loss/∂w for each `w` in `wrt`, as new values of the same graph.
 * `loss` must be a floating-point scalar []. A `w` the loss does not depend on gets zeros.
 */
export function gradients(b: GraphBuilder, loss: Value, wrt: readonly Value[]): Value[] {
  if (loss.shape.length !== 0 || !isFloat(loss.dtype)) {
    throw new TrainerError('internal', `gradients: the loss must be a floating-point scalar, got ${describe(loss)}`);
  }
  return pullback(b, loss, b.scalar(1, loss.dtype), wrt);
}

/** The gradients by `wrt` of whatever has the gradient `grad` by `output`: Σ grad·∂output/∂w. A `w` that the output does not depend on gets zeros. */
export function pullback(b: GraphBuilder, output: Value, grad: Value, wrt: readonly Value[]): Value[] {
  const calls = activeCalls(output, new Set(wrt));
  const grads = new Map<Value, Value>([[output, grad]]);
  for (const call of calls.reverse()) backward(b, call, grads);
  return wrt.map((w) => grads.get(w) ?? b.zeros(w));
}

function backward(b: GraphBuilder, call: Call, grads: Map<Value, Value>): void {
  const { op, inputs, outputs, attrs } = call;
  if (op.vjp === 'zero' || !outputs.some((v) => grads.has(v))) return;
  const outGrads = outputs.map((v) => grads.get(v) ?? b.zeros(v));
  const inGrads = op.vjp.apply(b, { inputs, attrs, output: outputs[0] as Value, grad: outGrads[0] as Value, outputs, grads: outGrads });
  inputs.forEach((input, i) => {
    const grad = inGrads[i];
    if (!grad || !isFloat(input.dtype)) return;
    const sofar = grads.get(input);
    grads.set(input, sofar ? accumulate(b, sofar, grad) : grad);
  });
}

/** Calls between `wrt` and `loss`, in topological order. */
function activeCalls(loss: Value, wrt: ReadonlySet<Value>): Call[] {
  const active = new Map<Call, boolean>();
  const stack: Call[] = loss.source.kind === 'call' ? [loss.source.call] : [];
  const depends = (v: Value) => wrt.has(v) || (v.source.kind === 'call' && active.get(v.source.call) === true);
  while (stack.length > 0) {
    const call = stack.at(-1) as Call;
    if (active.has(call)) {
      stack.pop();
      continue;
    }
    const pending = call.inputs.flatMap((v) => (v.source.kind === 'call' && !active.has(v.source.call) ? [v.source.call] : []));
    if (pending.length > 0) {
      stack.push(...pending);
      continue;
    }
    active.set(call, call.inputs.some(depends));
    stack.pop();
  }
  return [...active].filter(([, isActive]) => isActive).map(([call]) => call).sort((p, q) => p.id - q.id);
}

/** `sum` + `grad` as a value that an executor may write where `sum` lies: gradients summed over micro-batches. */
export function addedTo(b: GraphBuilder, sum: Value, grad: Value): Value {
  const { source } = grad;
  if (source.kind !== 'call' || source.call.op.name !== matmul.name || grad.shape.length !== 2) return b.add(sum, grad);
  const [x, y] = source.call.inputs as [Value, Value];
  return b.addMatmul(sum, x, y, source.call.attrs);
}

/** Sum of two contributions. A scatter into zeros scatters into the other term instead: one dense pass less. */
function accumulate(b: GraphBuilder, x: Value, y: Value): Value {
  for (const [scatter, other] of [[x, y], [y, x]] as const) {
    if (scatter.source.kind !== 'call') continue;
    const { op, inputs } = scatter.source.call;
    const [base, index, updates] = inputs;
    if (!base || !index || !updates || !isZeros(base)) continue;
    if (op.name === scatterAddRows.name) return b.scatterAddRows(other, index, updates);
    if (op.name === scatterAddElements.name) return b.scatterAddElements(other, index, updates);
  }
  return b.add(x, y);
}

function isZeros(value: Value): boolean {
  if (value.source.kind === 'constant') return value.shape.length === 0 && Number(value.source.tensor.data[0]) === 0;
  if (value.source.kind !== 'call' || value.source.call.op.name !== 'expand') return false;
  return value.source.call.inputs.every(isZeros);
}
