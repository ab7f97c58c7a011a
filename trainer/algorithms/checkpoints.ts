import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Policy } from '../protocol/policy.ts';
import type { Checkpoint } from '../protocol/run.ts';

const folderName = /^step-(\d{6})$/; // anything else is a half-written temporary folder

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
  list(): Checkpoint[] {
    return this.#steps().map((step) => ({ step, folder: this.#path(step) }));
  }

  /** The last complete checkpoint; null when there is none. */
  latest(): Checkpoint | null {
    return this.list().at(-1) ?? null;
  }

  /** Saves the state after `step` and deletes all but the newest `keepLast`. */
  async save(policy: Policy, step: number): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    await policy.save(this.#path(step), { resumable: true });
    for (const old of this.#steps().slice(0, -this.#keepLast)) rmSync(this.#path(old), { recursive: true, force: true });
  }

  #steps(): number[] {
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch {
      return []; // not created before the first checkpoint
    }
    return names.flatMap((name) => folderName.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
  }

  #path(step: number): string {
    return path.join(this.#folder, `step-${String(step).padStart(6, '0')}`);
  }
}
