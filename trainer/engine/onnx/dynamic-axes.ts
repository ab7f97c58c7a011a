import type { DType, ValueType } from '../tensor.ts';

/**
 * An axis whose size is known at each run only. Shapes of a graph are static, so the graph is built with `standIn` as its size, a number that divides
 * no size of another axis; wherever a size is written into the ONNX graph, multiples of it become products with the size that the axis `of` has at the run.
 */
export interface DynamicAxis {
  readonly name: string;
  readonly standIn: number;
  readonly of: { readonly input: string; readonly axis: number };
}

/** A type in which a text is the name of a dynamic axis. */
export interface DynamicType {
  readonly dtype: DType;
  readonly shape: readonly (number | string)[];
}

/** The axis that a size stands for, and what it is multiplied by; null for a static size. */
export function dynamicFactor(size: number, axes: readonly DynamicAxis[]): { axis: DynamicAxis; times: number } | null {
  const axis = axes.find(({ standIn }) => standIn === size) ?? axes.find(({ standIn }) => size > 0 && size % standIn === 0);
  return axis ? { axis, times: size / axis.standIn } : null;
}

/** The type with its dynamic axes by name. */
export function dynamicType({ dtype, shape }: ValueType, axes: readonly DynamicAxis[]): DynamicType {
  return { dtype, shape: shape.map((size) => axes.find(({ standIn }) => standIn === size)?.name ?? size) };
}
