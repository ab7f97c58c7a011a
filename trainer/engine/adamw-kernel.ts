import { f32x4, instantiate, local, loop, memory, type Code } from './wasm-module.ts';

/** Elements of a run: what it touches stays in the processor's cache. */
const chunk = 2 ** 14;
const arrays = ['gradient', 'weight', 'first', 'second'] as const;
const scalars = ['scale', 'keep', 'rate', 'correction', 'beta1', 'rest1', 'beta2', 'rest2', 'eps'] as const;

export type AdamWArrays = Readonly<Record<(typeof arrays)[number], Float32Array>>;
export type AdamWScalars = Readonly<Record<(typeof scalars)[number], number>>;

/**
 * In float32, for each element: g = scale·gradient,  first ← beta1·first + rest1·g,  second ← beta2·second + rest2·g²,
 * weight ← keep·weight - rate·first / (correction·√second + eps). In WebAssembly: four elements at a time, the same bits on every machine.
 */
export function adamwKernel(): (data: AdamWArrays, values: AdamWScalars) => void {
  const { run, memory: buffer } = instantiate(['i32', ...scalars.map(() => 'f32' as const)], ['i32', ...scalars.map(() => 'v128' as const), 'v128', 'v128', 'v128'], body(), 4 * 4 * chunk);
  const parts = arrays.map((name, i) => [name, new Float32Array(buffer, 4 * i * chunk, chunk)] as const);
  return (data, values) => {
    const numbers = scalars.map((name) => values[name]);
    const { length } = data.weight;
    for (let start = 0; start < length; start += chunk) {
      const end = Math.min(length, start + chunk);
      for (const [name, part] of parts) part.set(data[name].subarray(start, end));
      run(4 * (end - start), ...numbers);
      for (const [name, part] of parts) if (name !== 'gradient') data[name].set(part.subarray(0, end - start), start);
    }
  };
}

/** Parameters: bytes of each array, the scalars. Variables: address, the scalars four times each, g and the new moments. */
function body(): Code[] {
  const address = 1 + scalars.length;
  const values = Object.fromEntries(scalars.map((name, i) => [name, local.get(address + 1 + i)])) as Record<(typeof scalars)[number], Code>;
  const [g, first, second] = [1, 2, 3].map((i) => address + scalars.length + i) as [number, number, number];
  const at = (name: (typeof arrays)[number]) => 4 * chunk * arrays.indexOf(name);
  const load = (name: (typeof arrays)[number]) => memory.load(local.get(address), at(name));
  const store = (name: (typeof arrays)[number], value: Code) => memory.store(local.get(address), at(name), value);
  const { add, sub, mul, div, sqrt, splat } = f32x4;
  const direction = div(local.get(first), add(mul(sqrt(local.get(second)), values.correction), values.eps));
  return [
    ...scalars.map((_, i) => local.set(address + 1 + i, splat(local.get(1 + i)))),
    loop(address, 16, local.get(0), [
      local.set(g, mul(load('gradient'), values.scale)),
      local.set(first, add(mul(load('first'), values.beta1), mul(local.get(g), values.rest1))),
      local.set(second, add(mul(load('second'), values.beta2), mul(mul(local.get(g), local.get(g)), values.rest2))),
      store('first', local.get(first)),
      store('second', local.get(second)),
      store('weight', sub(mul(load('weight'), values.keep), mul(direction, values.rate))),
    ]),
  ];
}
