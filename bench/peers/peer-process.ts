import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

/** Every answer of a measured process: peak_mb is the greatest resident memory of the process so far, in MB (10^6 bytes). */
const Measured = z.looseObject({ peak_mb: z.number() });

/** What is asked of every measured piece of work: seconds of wall clock and of CPU (all threads of the process). */
export const Timed = z.object({ seconds: z.number(), cpu: z.number(), tokens: z.number(), settings: z.string().optional() });

/**
 * A process that is measured: one JSON object a line to it, one back. Ours and the peers speak alike, so that each is alone in its process with its memory.
 * What it writes to standard error is shown only when it fails.
 */
export class PeerProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<number | null>;
  #errors = '';

  /** Threads that libraries take from the environment are set to `threads`. */
  constructor(command: string, args: readonly string[], threads: number) {
    const env = { ...process.env, OMP_NUM_THREADS: String(threads), MKL_NUM_THREADS: String(threads), HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false' };
    // Set on some machines for old builds of OpenBLAS; it would slow the peers.
    delete (env as NodeJS.ProcessEnv)['OPENBLAS_CORETYPE'];
    delete (env as NodeJS.ProcessEnv)['OPENBLAS_L2_SIZE'];
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => { this.#errors = (this.#errors + text).slice(-4000); });
    this.#child.stdin?.on('error', () => undefined); // it has died, which the answer that does not come tells
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on('close', resolve).on('error', (error) => { this.#errors += error.message; resolve(null); }));
  }

  /** Sends one job and waits for its answer. Throws with the process's last words when it ends instead. */
  async ask<T extends z.ZodRawShape>(job: object, answer: z.ZodObject<T>): Promise<z.infer<z.ZodObject<T>> & { peak_mb: number }> {
    this.#child.stdin?.write(`${JSON.stringify(job)}\n`);
    const line: IteratorResult<string, unknown> = await this.#lines.next();
    if (line.done) throw new Error(`${this.#child.spawnargs.join(' ')} ended with ${await this.#ended}: ${this.#errors}`);
    const json: unknown = JSON.parse(line.value);
    return { ...answer.parse(json), ...Measured.parse(json) };
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}
