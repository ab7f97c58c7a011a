import protobuf from 'protobufjs/minimal.js';
import { elementCount, type DType, type Tensor } from '../tensor.ts';
import type { DynamicType } from './dynamic-axes.ts';

type Writer = protobuf.Writer;
type WriteBody = (w: Writer) => void;

/** Field numbers below are those of onnx.proto (ONNX IR version 10). */
const IR_VERSION = 10;
const OPSET = 21;
const elementTypes: Readonly<Record<DType, number>> = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float16: 10, float64: 11 };

export type OnnxAttribute = number | string | readonly number[] | { readonly float: number };

export interface OnnxNode {
  readonly name: string;
  readonly opType: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, OnnxAttribute>>;
}

export interface OnnxModel {
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, Tensor>;
  readonly inputs: ReadonlyMap<string, DynamicType>;
  readonly outputs: ReadonlyMap<string, DynamicType>;
}

/** Weights kept outside the protobuf, whose limit is 2 GB: ONNX Runtime takes them by name from memory, or from a file beside the model. */
export interface ExternalData extends Place {
  readonly data: Uint8Array;
}

/** Where the bytes of an initializer are found: `path` relative to the model, `offset` in bytes. */
export interface Place { readonly path: string; readonly offset: number }

/** Below this an initializer is stored inline. */
const EXTERNAL_FROM_BYTES = 64 * 1024;

export function onnxElementType(dtype: DType): number {
  return elementTypes[dtype];
}

/** Serialises a model as ONNX ModelProto bytes, its large initializers beside it, each under its own name unless `place` says otherwise. */
export function encodeModel(model: OnnxModel, place: (name: string, byteLength: number) => Place = (name) => ({ path: name, offset: 0 })): { bytes: Uint8Array; external: ExternalData[] } {
  const external: ExternalData[] = [];
  const w = protobuf.Writer.create();
  w.uint32(tag(1, 0)).int64(IR_VERSION);
  w.uint32(tag(2, 2)).string('agent-trainer');
  message(w, 7, (g) => {
    for (const node of model.nodes) message(g, 1, (n) => writeNode(n, node));
    g.uint32(tag(2, 2)).string('graph');
    for (const [name, data] of model.initializers) message(g, 5, (t) => writeTensor(t, name, data, external, place));
    for (const [name, type] of model.inputs) message(g, 11, (v) => writeValueInfo(v, name, type));
    for (const [name, type] of model.outputs) message(g, 12, (v) => writeValueInfo(v, name, type));
  });
  const versions = [['', OPSET], ['com.microsoft', 1]] as const;
  for (const [domain, version] of versions.filter(([domain]) => domain === '' || model.nodes.some((node) => node.domain === domain))) {
    message(w, 8, (o) => o.uint32(tag(1, 2)).string(domain).uint32(tag(2, 0)).int64(version));
  }
  return { bytes: w.finish(), external };
}

function tag(field: number, wireType: 0 | 2 | 5): number {
  return (field << 3) | wireType;
}

function message(w: Writer, field: number, body: WriteBody): void {
  w.uint32(tag(field, 2)).fork();
  body(w);
  w.ldelim();
}

function writeNode(w: Writer, node: OnnxNode): void {
  for (const name of node.inputs) w.uint32(tag(1, 2)).string(name);
  for (const name of node.outputs) w.uint32(tag(2, 2)).string(name);
  w.uint32(tag(3, 2)).string(node.name);
  w.uint32(tag(4, 2)).string(node.opType);
  for (const [name, value] of Object.entries(node.attributes)) message(w, 5, (a) => writeAttribute(a, name, value));
  if (node.domain !== '') w.uint32(tag(7, 2)).string(node.domain);
}

function writeAttribute(w: Writer, name: string, value: OnnxAttribute): void {
  w.uint32(tag(1, 2)).string(name);
  if (typeof value === 'number') w.uint32(tag(3, 0)).int64(value).uint32(tag(20, 0)).int32(2);
  else if (typeof value === 'string') w.uint32(tag(4, 2)).string(value).uint32(tag(20, 0)).int32(3);
  else if ('float' in value) w.uint32(tag(2, 5)).float(value.float).uint32(tag(20, 0)).int32(1);
  else {
    for (const item of value) w.uint32(tag(8, 0)).int64(item);
    w.uint32(tag(20, 0)).int32(7);
  }
}

function writeTensor(w: Writer, name: string, { dtype, shape, data }: Tensor, external: ExternalData[], place: (name: string, byteLength: number) => Place): void {
  for (const dim of shape) w.uint32(tag(1, 0)).int64(dim);
  w.uint32(tag(2, 0)).int32(elementTypes[dtype]);
  w.uint32(tag(8, 2)).string(name);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (elementCount(shape) === 0 || bytes.byteLength < EXTERNAL_FROM_BYTES) {
    w.uint32(tag(9, 2)).bytes(bytes);
    return;
  }
  const { path, offset } = place(name, bytes.byteLength);
  external.push({ path, offset, data: bytes });
  const entry = (key: string, value: string) => message(w, 13, (e) => e.uint32(tag(1, 2)).string(key).uint32(tag(2, 2)).string(value));
  entry('location', path);
  if (offset > 0) entry('offset', String(offset));
  if (path !== name) entry('length', String(bytes.byteLength));
  w.uint32(tag(14, 0)).int32(1);
}

function writeValueInfo(w: Writer, name: string, { dtype, shape }: DynamicType): void {
  w.uint32(tag(1, 2)).string(name);
  message(w, 2, (type) => message(type, 1, (t) => {
    t.uint32(tag(1, 0)).int32(elementTypes[dtype]);
    message(t, 2, (s) => {
      for (const dim of shape) message(s, 1, (d) => (typeof dim === 'number' ? d.uint32(tag(1, 0)).int64(dim) : d.uint32(tag(2, 2)).string(dim)));
    });
  }));
}
