import { tensor, type DType, type Tensor } from '../tensor.ts';
import { dynamicFactor, type DynamicAxis } from './dynamic-axes.ts';
import { onnxElementType, type OnnxAttribute, type OnnxNode } from './model-proto.ts';
import type { ProviderProfile } from './profile.ts';

type Attributes = Readonly<Record<string, OnnxAttribute>>;

/** What an operator's lowering writes to: ONNX nodes and small constants, named after the IR call they belong to. */
export class OnnxEmitter {
  readonly profile: ProviderProfile;
  readonly nodes: OnnxNode[] = [];
  readonly initializers = new Map<string, Tensor>();
  /** Name of the IR call being lowered; ONNX Runtime repeats it in its errors. */
  scope = '';
  readonly #axes: readonly DynamicAxis[];
  readonly #sizes = new Map<string, string>();

  constructor(profile: ProviderProfile, axes: readonly DynamicAxis[] = []) {
    this.profile = profile;
    this.#axes = axes;
  }

  /** Adds a node with one output and returns the output's name. */
  emit(opType: string, inputs: readonly string[], attributes: Attributes = {}, options: { domain?: string } = {}): string {
    return this.emitMany(opType, inputs, 1, attributes, options)[0] as string;
  }

  emitMany(opType: string, inputs: readonly string[], outputs: number, attributes: Attributes = {}, options: { domain?: string } = {}): string[] {
    const name = `${this.scope}/${opType}_${this.nodes.length}`;
    const names = Array.from({ length: outputs }, (_, i) => `${name}:${i}`);
    this.nodes.push({ name, opType, domain: options.domain ?? '', inputs, outputs: names, attributes });
    return names;
  }

  cast(x: string, dtype: DType): string {
    return this.emit('Cast', [x], { to: onnxElementType(dtype) });
  }

  /** An int64 vector: shapes, axes. Constant, but for the sizes of dynamic axes. */
  ints(values: readonly number[]): string {
    if (values.some((value) => dynamicFactor(value, this.#axes))) return this.#sizesOf(values);
    return this.#constant(`ints ${values.join(',')}`, () => tensor('int64', [values.length], values));
  }

  scalar(value: number, dtype: DType): string {
    return this.#constant(`scalar ${dtype} ${value}`, () => tensor(dtype, [], [value]));
  }

  /** A constant vector of one value. */
  filled(count: number, value: number, dtype: DType): string {
    return this.#constant(`filled ${dtype} ${count} ${value}`, () => tensor(dtype, [count], new Float64Array(count).fill(value)));
  }

  #sizesOf(values: readonly number[]): string {
    const key = values.join(',');
    const known = this.#sizes.get(key);
    if (known !== undefined) return known;
    const found = values.length === 1 ? this.#size(values[0] as number) : this.emit('Concat', values.map((value) => this.ints([value])), { axis: 0 });
    this.#sizes.set(key, found);
    return found;
  }

  #size(value: number): string {
    const { axis: { of, standIn }, times } = dynamicFactor(value, this.#axes) as NonNullable<ReturnType<typeof dynamicFactor>>;
    if (times === 1) return this.emit('Shape', [of.input], { start: of.axis, end: of.axis + 1 });
    return this.emit('Mul', [this.ints([standIn]), this.ints([times])]);
  }

  #constant(name: string, make: () => Tensor): string {
    if (!this.initializers.has(name)) this.initializers.set(name, make());
    return name;
  }
}
