import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { LogStream } from './attempt-logs.ts';
import type { Ending } from './classify.ts';
import type { Connection, Connections } from './connections.ts';
import { WorkerMessage, type LoadMessage, type RunMessage, type WorkerSpan } from './messages.ts';
import type { Overlay } from './overlays.ts';
import { pipesAreRead } from './pipes.ts';
import { groupGone, killGroup, killStrays, workerMark } from './process-group.ts';
import type { Reaper } from './reaper.ts';
import type { WorkerCommand } from './worker-command.ts';

const loadSeconds = 120;
const tailLength = 2000; // characters of stderr shown when the agent does not load

export interface WorkerOptions {
  id: string;
  /** What its environment says; kept to know it by. */
  overlay: Overlay | null;
  command: WorkerCommand;
  load: LoadMessage;
  connections: Connections;
  reaper: Reaper;
  onSpan(kind: 'begin' | 'end', span: WorkerSpan): void;
  onOutput(stream: LogStream, text: string): void;
}

/** One agent process: loaded once, then one attempt at a time. */
export class WorkerProcess {
  readonly id: string;
  readonly overlay: Overlay | null;
  /** Resolves when the agent is loaded. Rejects with TrainerError 'agent' or 'environment'. */
  readonly ready: Promise<void>;
  /** Resolves when the process and everything it started are gone. */
  readonly gone: Promise<void>;
  readonly #options: WorkerOptions;
  readonly #child: ChildProcess;
  #connection: Connection | null = null;
  #dead: string | null = null;
  #stderrTail = '';
  #becomeReady!: () => void;
  #failToLoad!: (error: TrainerError) => void;
  #endAttempt: ((ending: Ending) => void) | null = null;
  #attempt_id: string | null = null;

  constructor(options: WorkerOptions) {
    const { id, command, connections, reaper } = options;
    this.id = id;
    this.overlay = options.overlay;
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#failToLoad = reject;
    });
    this.ready.catch(() => {}); // whoever waits for it hears of it
    const door = connections.expect((connection) => this.#connected(connection));
    const mark = randomBytes(16).toString('hex');
    this.#child = spawn(command.command, command.args, {
      cwd: command.cwd, detached: true, windowsHide: true, stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...command.env, AGENT_TRAINER_SOCKET: connections.address, AGENT_TRAINER_TOKEN: door.token, [workerMark]: mark },
    });
    const { pid } = this.#child;
    if (pid !== undefined) reaper.watch(pid);
    this.#listen('stdout');
    this.#listen('stderr');
    const slow = setTimeout(() => this.kill(`it did not finish loading within ${loadSeconds} s`), loadSeconds * 1000);
    this.ready.then(() => clearTimeout(slow), () => clearTimeout(slow));
    this.gone = new Promise((resolve) => {
      const ended = async (reason: string) => {
        door.forget();
        await pipesAreRead(); // its last words
        this.#over(reason);
        if (pid !== undefined) {
          killGroup(pid); // what it started
          await groupGone(pid);
          await killStrays(mark);
          reaper.forget(pid);
        }
        this.#connection?.close();
        // A process that could not be found may still hold the other ends, which would keep this one alive.
        this.#child.stdout?.destroy();
        this.#child.stderr?.destroy();
        resolve();
      };
      this.#child.once('error', (error) => void ended(`it could not be started (${messageOf(error)})`));
      this.#child.once('exit', (code, signal) => void ended(signal ? `signal ${signal}` : `exit code ${code}`));
    });
  }

  get isDead(): boolean {
    return this.#dead !== null;
  }

  /** Hands over one attempt; resolves with how it ended, and never rejects. */
  run(message: RunMessage): Promise<Ending> {
    return new Promise((resolve) => {
      if (this.#dead !== null) return resolve(died(this.#dead));
      this.#attempt_id = message.rollout.attempt_id;
      this.#endAttempt = resolve;
      this.#connection!.send(message);
    });
  }

  /** Ends the process and what it started. An attempt in progress ends with `ending`. */
  kill(reason: string, ending: Ending = died(reason)): void {
    if (this.#dead !== null) return;
    this.#over(reason, ending);
    if (this.#child.pid !== undefined) killGroup(this.#child.pid);
  }

  #over(reason: string, ending: Ending = died(reason)): void {
    if (this.#dead !== null) return;
    this.#dead = reason;
    this.#finish(ending);
    this.#failToLoad(new TrainerError('agent', `The agent ${this.#options.load.file} could not be loaded: the worker died, ${reason}.${this.#tail()}`));
  }

  #finish(ending: Ending): void {
    const end = this.#endAttempt;
    this.#endAttempt = null;
    this.#attempt_id = null;
    end?.(ending);
  }

  #connected(connection: Connection): void {
    this.#connection = connection;
    connection.onLine = (line) => this.#read(line);
    connection.onTooLong = () => this.kill('it sent an endless line on the channel to the trainer');
    connection.send(this.#options.load);
  }

  #read(line: string): void {
    if (this.#dead !== null) return;
    const message = parse(line);
    switch (message?.type) {
      case 'ready': return this.#becomeReady();
      case 'load_failed':
        this.#failToLoad(new TrainerError('agent', message.message));
        return this.kill('its agent cannot be loaded');
      case 'begin':
      case 'end': return this.#options.onSpan(message.type, message.span);
      case 'result': return this.#result(message);
      default: return this.kill(`it sent something else than messages on the channel to the trainer: ${JSON.stringify(line.slice(0, 80))}`);
    }
  }

  #result({ attempt_id, result, leaving }: Extract<WorkerMessage, { type: 'result' }>): void {
    const ending = { kind: 'result', result } as const;
    if (attempt_id === this.#attempt_id && leaving) this.kill('an error outside the agent\'s own call', ending);
    else if (attempt_id === this.#attempt_id) this.#finish(ending);
    else this.kill(`it sent a result for attempt ${attempt_id.slice(0, 80)}, which it does not run`);
  }

  #listen(stream: LogStream): void {
    this.#child[stream]!.setEncoding('utf8').on('data', (text: string) => {
      if (stream === 'stderr') this.#stderrTail = (this.#stderrTail + text).slice(-tailLength);
      this.#options.onOutput(stream, text);
    });
  }

  #tail(): string {
    return this.#stderrTail.trim() ? ` It wrote: ${this.#stderrTail.trim()}` : '';
  }
}

function died(reason: string): Ending {
  return { kind: 'died', reason: `The worker died during the attempt: ${reason}.` };
}

function parse(line: string): WorkerMessage | undefined {
  try {
    return WorkerMessage.parse(JSON.parse(line));
  } catch {
    return undefined; // the caller says so
  }
}
