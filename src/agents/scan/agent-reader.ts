import { Worker } from 'node:worker_threads';
import { t } from '../../../trainer/protocol/l10n.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { isAgentFile } from '../agent-files.ts';
import type { DetectedAgent } from '../detect.ts';
import type { Answer, Change, Look, Request, ScanFolder, ScanResult } from './protocol.ts';

interface Waiting { resolve: (answer: Answer) => void; reject: (error: Error) => void }
type Asked = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

/**
 * Finds agents in sources, in a worker thread that starts with the first question. A worker that dies fails the questions
 * it had, and the next question starts another.
 */
export class AgentReader {
  private readonly workerFile: string;
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;

  /** @param workerFile the built scan/worker.ts */
  constructor(workerFile: string) {
    this.workerFile = workerFile;
  }

  /** The agents of a text. */
  async read(fileName: string, text: string): Promise<DetectedAgent[]> {
    if (!isAgentFile(fileName)) return [];
    const answer = await this.ask({ kind: 'read', fileName, text });
    return answer.kind === 'read' ? answer.agents : [];
  }

  /** @throws TrainerError 'cancelled' */
  async scan(folders: ScanFolder[], signal?: AbortSignal): Promise<ScanResult> {
    const answer = await this.ask({ kind: 'scan', folders }, signal);
    if (answer.kind !== 'scanned') throw new TrainerError('cancelled', t('The search for agents was cancelled.'));
    return answer.result;
  }

  async look(folders: ScanFolder[], changes: Change[]): Promise<Look> {
    const answer = await this.ask({ kind: 'look', folders, changes });
    return answer.kind === 'looked' ? answer.result : { found: [], gone: [] };
  }

  dispose(): void {
    this.fail(new TrainerError('cancelled', t('The search for agents has ended.')));
  }

  private ask(asked: Asked, signal?: AbortSignal): Promise<Answer> {
    const id = ++this.lastId;
    const worker = this.worker ??= this.start();
    const cancel = (): void => { worker.postMessage({ id, kind: 'cancel' } satisfies Request); };
    const answered = new Promise<Answer>((resolve, reject) => { this.waiting.set(id, { resolve, reject }); });
    worker.postMessage({ ...asked, id } satisfies Request);
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    return answered.finally(() => { signal?.removeEventListener('abort', cancel); });
  }

  private start(): Worker {
    const worker = new Worker(this.workerFile);
    const lost = (cause?: unknown): void => {
      if (this.worker === worker) this.fail(new TrainerError('internal', t('The thread that looks for agents has ended. Run the command again.'), { cause }));
    };
    worker.on('message', (answer: Answer) => {
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if (answer.kind === 'failed') waiting?.reject(new TrainerError('internal', answer.message));
      else waiting?.resolve(answer);
    });
    worker.on('error', lost);
    worker.on('exit', () => { lost(); });
    return worker;
  }

  private fail(error: Error): void {
    const { worker } = this;
    this.worker = null;
    void worker?.terminate();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}
