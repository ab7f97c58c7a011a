/** Code of WebAssembly with 128-bit vectors, as much as loops over float32 arrays need. Instructions leave their result on the stack, so expressions nest. */
export type Code = readonly number[];

interface Exports { run: (...values: number[]) => void; memory: { buffer: ArrayBuffer } }
/** Of Node; its types come with those of browsers only. */
const { Module, Instance } = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object; Instance: new (module: object) => { exports: Exports } } }).WebAssembly;

const types = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

/** LEB128. */
export function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(Math.floor(value / 128))];
}

const vector = (opcode: number) => (...operands: Code[]): Code => [...operands.flat(), 0xfd, ...unsigned(opcode)];
/** Four float32 at a time. */
export const f32x4 = { splat: vector(0x13), sqrt: vector(0xe3), add: vector(0xe4), sub: vector(0xe5), mul: vector(0xe6), div: vector(0xe7) };
/** Parameters and variables by index, parameters first. */
export const local = { get: (index: number): Code => [0x20, ...unsigned(index)], set: (index: number, value: Code): Code => [...value, 0x21, ...unsigned(index)] };
/** Four float32 at an address in bytes. */
export const memory = {
  load: (address: Code, offset: number): Code => [...address, 0xfd, 0x00, 4, ...unsigned(offset)],
  store: (address: Code, offset: number, value: Code): Code => [...address, ...value, 0xfd, 0x0b, 4, ...unsigned(offset)],
};

/** Runs `body` while the variable `counter`, raised by `step` (below 64) each time, is below `end`; at least once. */
export function loop(counter: number, step: number, end: Code, body: readonly Code[]): Code {
  const raised = [...local.get(counter), 0x41, ...unsigned(step), 0x6a];
  return [0x03, 0x40, ...body.flat(), ...local.set(counter, raised), ...local.get(counter), ...end, 0x49, 0x0d, 0x00, 0x0b];
}

/** A function without a result over a memory of its own, whose bytes all begin as 0. */
export function instantiate(parameters: readonly (keyof typeof types)[], variables: readonly (keyof typeof types)[], body: readonly Code[], bytes: number): { run: (...values: number[]) => void; memory: ArrayBuffer } {
  const list = (items: readonly Code[]) => [...unsigned(items.length), ...items.flat()];
  const section = (id: number, content: Code) => [id, ...unsigned(content.length), ...content];
  const name = (text: string) => [...unsigned(text.length), ...Buffer.from(text)];
  const code = [...list(variables.map((type) => [1, types[type]])), ...body.flat(), 0x0b];
  const module = Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, list([[0x60, ...list(parameters.map((type) => [types[type]])), 0]])),
    ...section(3, list([[0]])),
    ...section(5, list([[0, ...unsigned(Math.ceil(bytes / 65536))]])),
    ...section(7, list([[...name('memory'), 2, 0], [...name('run'), 0, 0]])),
    ...section(10, list([[...unsigned(code.length), ...code]])),
  ]);
  const exported = new Instance(new Module(module)).exports;
  return { run: exported.run, memory: exported.memory.buffer };
}
