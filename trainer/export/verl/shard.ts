import { z } from 'zod';
import { elementCount } from '../../engine/tensor.ts';
import { openForReading, readAt } from '../../models/file-bytes.ts';
import type { SafetensorsType } from '../../models/safetensors.ts';
import { TrainerError } from '../../protocol/errors.ts';
import { readArchive, type Stored } from './archive.ts';
import { Global, Persistent, Pickled, unpickle } from './unpickle.ts';

/** One rank's part of a tensor. */
export interface Part {
  dtype: SafetensorsType;
  /** Of the part; row-major. */
  shape: readonly number[];
  /** Of the tensor. */
  whole: readonly number[];
  /** The dimension along which the ranks' parts follow each other; `replica` when every rank has the whole, `untold` of a plain tensor. */
  dim: number | 'replica' | 'untold';
  read(start: number, length: number): Promise<Uint8Array>;
}

/** The model file of one rank. */
export interface ShardFile { parts: ReadonlyMap<string, Part>; close(): Promise<void> }

const storageTypes: Readonly<Record<string, SafetensorsType>> = { 'torch.FloatStorage': 'F32', 'torch.HalfStorage': 'F16', 'torch.BFloat16Storage': 'BF16' };
export const bytesPerValue: Readonly<Record<SafetensorsType, number>> = { F32: 4, F16: 2, BF16: 2 };
const placements = ['torch.distributed.tensor.placement_types', 'torch.distributed._tensor.placement_types'];
const dtensor = ['torch.distributed.tensor.DTensor', 'torch.distributed._tensor.api.DTensor', 'torch.distributed._tensor.DTensor', 'torch.distributed.tensor._api.DTensor'];
const specs = ['torch.distributed.tensor._dtensor_spec', 'torch.distributed._tensor._dtensor_spec', 'torch.distributed.tensor.placement_types', 'torch.distributed._tensor.placement_types'];

/** What files of sharded weights are made of. */
const allowed: ReadonlySet<string> = new Set([
  'collections.OrderedDict', 'torch.Size', 'torch.device', 'torch.serialization._get_layout',
  'torch._tensor._rebuild_from_type_v2', 'torch._utils._rebuild_wrapper_subclass', 'torch._utils._rebuild_tensor_v2', 'torch._utils._rebuild_parameter',
  ...Object.keys(storageTypes), 'torch.IntStorage', 'torch.LongStorage', 'torch.float32', 'torch.float16', 'torch.bfloat16', 'torch.int32', 'torch.int64',
  ...dtensor, ...placements.flatMap((module) => ['Shard', '_StridedShard', 'Replicate', 'Partial'].map((name) => `${module}.${name}`)),
  ...specs.flatMap((module) => ['DTensorSpec', 'TensorMeta', 'ShardOrderEntry'].map((name) => `${module}.${name}`)),
  'torch.distributed.device_mesh.DeviceMesh', 'torch.distributed._mesh_layout._MeshLayout', 'torch.distributed._mesh_layout._FlatLayout',
]);

const Sizes = z.array(z.number().int().min(0).max(2 ** 40)).max(8);
const Tensor = z.tuple([z.instanceof(Persistent), z.number().int().min(0), Sizes, Sizes]).rest(z.unknown());
const StorageId = z.tuple([z.literal('storage'), z.instanceof(Global), z.string(), z.string(), z.number().int().min(0)]);

/** Opens a file that PyTorch's `torch.save` wrote of a state dictionary; its weights are read when asked for. Throws TrainerError `bad_input` naming file and tensor. */
export async function openShard(file: string): Promise<ShardFile> {
  const refuse = (problem: string) => new TrainerError('bad_input', `${file} cannot be converted: ${problem}.`);
  const handle = await openForReading(file);
  try {
    const files = await readArchive(handle, refuse);
    const contents = async (name: string) => {
      const found = files.get(name);
      return found && readAt(handle, found.position, found.length, refuse);
    };
    if (((await contents('byteorder'))?.toString() ?? 'little') !== 'little') throw refuse('it was written on a machine with the other byte order');
    const pickle = await contents('data.pkl');
    if (!pickle) throw refuse('it holds no data.pkl');
    const state = unpickle(pickle, allowed, refuse);
    if (!(state instanceof Map)) throw refuse('it is no dictionary of tensors');
    const parts = new Map<string, Part>();
    for (const [name, value] of state) {
      if (typeof name !== 'string') throw refuse('a key of it is no name');
      parts.set(name, partOf(value, files, (problem) => refuse(`tensor "${name}" ${problem}`), (position, length) => readAt(handle, position, length, refuse)));
    }
    return { parts, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function partOf(value: unknown, files: ReadonlyMap<string, Stored>, refuse: (problem: string) => TrainerError, read: (position: number, length: number) => Promise<Uint8Array>): Part {
  const wrapped = value instanceof Pickled && value.name.endsWith('_rebuild_from_type_v2') ? value.args[3] : undefined;
  const attributes = wrapped instanceof Map ? wrapped : Array.isArray(wrapped) ? (wrapped as unknown[]).find((each) => each instanceof Map) : undefined;
  const spec = attributes instanceof Map ? attributes.get('_spec') as unknown : undefined;
  const local = attributes instanceof Map ? attributes.get('_local_tensor') as unknown : value;
  const tensor = local instanceof Pickled && local.name.endsWith('._rebuild_parameter') ? local.args[0] : local;
  if (!(tensor instanceof Pickled) || !tensor.name.endsWith('._rebuild_tensor_v2')) throw refuse('is neither a tensor nor a DTensor');
  const built = Tensor.safeParse(tensor.args);
  const storage = StorageId.safeParse(built.data?.[0].id);
  if (!built.success || !storage.success) throw refuse('is described in another way than PyTorch does');
  const [, offset, shape, strides] = built.data;
  const [, type, key] = storage.data;
  const dtype = storageTypes[type.name];
  if (dtype === undefined) throw refuse(`is of the type ${type.name}; 32-bit and 16-bit floats can be converted`);
  if (strides.some((stride, i) => (shape[i] as number) > 1 && stride !== elementCount(shape.slice(i + 1)))) throw refuse('does not lie in rows one after the other');
  const width = bytesPerValue[dtype];
  const stored = files.get(`data/${key}`);
  if (!stored || (offset + elementCount(shape)) * width > stored.length) throw refuse('has fewer values in the file than its shape asks for');
  return { dtype, shape, ...(spec === undefined ? { whole: shape, dim: 'untold' as const } : placementOf(spec, refuse)), read: (start, length) => read(stored.position + offset * width + start, length) };
}

function placementOf(spec: unknown, refuse: (problem: string) => TrainerError): { whole: number[]; dim: number | 'replica' } {
  const state = spec instanceof Pickled && spec.state instanceof Map ? spec.state as Map<unknown, unknown> : new Map<unknown, unknown>();
  const meta = state.get('tensor_meta');
  const size = meta instanceof Pickled ? meta.args[0] : undefined;
  const whole = Sizes.safeParse(size instanceof Pickled ? size.args[0] : size);
  const placed = z.array(z.instanceof(Pickled)).safeParse(state.get('placements'));
  if (!whole.success || !placed.success) throw refuse('does not say how it is spread over the ranks');
  const cut = placed.data.filter(({ name }) => !name.endsWith('.Replicate'));
  const [only] = cut;
  if (only === undefined) return { whole: whole.data, dim: 'replica' };
  if (cut.length > 1 || !only.name.endsWith('.Shard')) throw refuse(`is spread as ${cut.map(({ name }) => name.split('.').at(-1)).join(' and ')}; one Shard, beside replicas, can be merged`);
  const dim = z.number().int().min(0).lt(whole.data.length).safeParse(only.args[0] ?? (only.state instanceof Map ? only.state.get('dim') : undefined));
  if (!dim.success) throw refuse('does not say along which dimension it is cut');
  return { whole: whole.data, dim: dim.data };
}
