import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import type { StepMetrics } from '../protocol/run.ts';

const folderName = /^step-(\d{6,})$/;
const halfWritten = /^step-\d{6,}\.tmp-/;

/** The state after `step` (0-based), complete. */
export interface StepFolder { step: number; folder: string }

/** The validated step with the highest mean reward on the validation tasks, the earliest on a tie; null where none has one. */
export function bestStep(steps: readonly Pick<StepMetrics, 'step' | 'val_reward'>[]): number | null {
  const validated = steps.filter((step) => step.val_reward !== null);
  return validated.length === 0 ? null : validated.reduce((best, step) => (step.val_reward! > best.val_reward! ? step : best)).step;
}

/**
 * The checkpoints of one run: `step-000012` is the state after step 12 (0-based). The policy writes a folder under a
 * temporary name and renames it, so a folder of this name is always complete. Nothing else is needed to go on: batches
 * and seeds are functions of the step.
 */
export class Checkpoints {
  readonly #folder: string;
  readonly #keepLast: number;

  constructor(folder: string, keepLast: number) {
    this.#folder = folder;
    this.#keepLast = keepLast;
  }

  /** The complete checkpoints, oldest first. */
  list(): StepFolder[] {
    return this.#steps().map((step) => ({ step, folder: this.#path(step) }));
  }

  /** The last complete checkpoint; null when there is none. */
  latest(): StepFolder | null {
    return this.list().at(-1) ?? null;
  }

  /**
   * Puts the policy into its last complete state and returns that state's step; null when there is none. A checkpoint that
   * cannot be read is told to `damaged` and set aside, and the one before it is taken. What a killed trainer left half written goes.
   */
  async restore(policy: Policy, damaged: (message: string) => void): Promise<number | null> {
    for (const name of this.#names()) if (halfWritten.test(name)) rmSync(path.join(this.#folder, name), { recursive: true, force: true });
    for (let last = this.latest(); last; last = this.latest()) {
      try {
        await policy.restore(last.folder);
        return last.step;
      } catch (error) {
        if (!(error instanceof TrainerError) || (error.code !== 'bad_input' && error.code !== 'not_found')) throw error;
        const aside = `${last.folder}.damaged`;
        rmSync(aside, { recursive: true, force: true });
        renameSync(last.folder, aside);
        damaged(`The checkpoint of step ${last.step + 1} is damaged and now named ${aside}: ${error.message}`);
      }
    }
    return null;
  }

  /**
   * Saves the state after `step` and deletes all but the newest `keepLast` and that of `best`, the step that validated best so far.
   * Nothing is deleted before the new one is on disk, so that a crash between the two costs neither; the next save deletes what it left.
   */
  async save(policy: Policy, step: number, best: number | null = null): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    await policy.save(this.#path(step), { resumable: true });
    for (const old of this.#steps().slice(0, -this.#keepLast)) if (old !== best) rmSync(this.#path(old), { recursive: true, force: true });
  }

  #steps(): number[] {
    return this.#names().flatMap((name) => folderName.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return []; // not created before the first checkpoint
    }
  }

  #path(step: number): string {
    return path.join(this.#folder, `step-${String(step).padStart(6, '0')}`);
  }
}
