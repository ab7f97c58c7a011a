import { messageOf, TrainerError } from '../protocol/errors.ts';

/** Whether memory ran out: in ONNX Runtime, in an allocation of an array, or as `compile` and `run` say it. */
export function isOutOfMemory(error: unknown): boolean {
  if (error instanceof TrainerError) return error.code === 'out_of_memory';
  return /failed to allocate memory|bad[ _]alloc|allocation failed|out of memory|cannot allocate memory/i.test(messageOf(error));
}

export function outOfMemory(cause: unknown): TrainerError {
  return new TrainerError('out_of_memory', `There is not enough memory for a computation: ${messageOf(cause)} Use smaller micro-batches, or end other programs.`, { cause });
}
