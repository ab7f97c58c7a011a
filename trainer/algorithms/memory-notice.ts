import type { TrainingJob } from './training-job.ts';

/** Says when memory has run out since the last call. Gives the count so far, for the next. */
export function noticeMemory(job: TrainingJob, step: number, before: number, now: { out_of_memory: number; micro_batch_tokens: number } | null): number {
  if (!now || now.out_of_memory <= before) return before;
  job.notice('warning', `Step ${step + 1}: memory ran out, ${now.out_of_memory} time(s) so far. Micro-batches have at most ${now.micro_batch_tokens} tokens from here on, and activations are computed again. Set micro_batch_tokens to that in later runs.`);
  return now.out_of_memory;
}
