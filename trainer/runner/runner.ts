import { resolve } from 'node:path';
import type { RunnerConfig } from '../protocol/config.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { TrainerEvent } from '../protocol/rpc.ts';
import type { Store } from '../store/store.ts';
import type { AgentSpec } from './agent-spec.ts';
import { AttemptExecution, type Gateway } from './attempt.ts';
import { cacheFolder } from './clean-cache.ts';
import { Connections } from './connections.ts';
import { deal } from './deal.ts';
import type { WorkerSpan } from './messages.ts';
import { environmentOf, type Overlay } from './overlays.ts';
import { Queue } from './queue.ts';
import { Reaper } from './reaper.ts';
import { workerCommand, type WorkerCommand } from './worker-command.ts';
import { WorkerProcess } from './worker-process.ts';

export type { AgentSpec } from './agent-spec.ts';
export { resolveAgent } from './agent-spec.ts';

export interface RunnerOptions {
  store: Store;
  run_id: string;
  agent: AgentSpec;
  gateway: Gateway;
  config: RunnerConfig;
  workspace: string;
  /** Names of the resources that all its rollouts bring; default: none. An agent that needs others is refused at the start. */
  resources?: readonly string[];
  /** The model name handed to agents, asked for each attempt. */
  modelName: () => string;
  /** The runner cannot go on (the store failed); it has stopped. Without it the error is thrown where nobody catches it. */
  onError?: (error: unknown) => void;
}

/** Workers that die in a row without finishing an attempt, until the runner gives up on starting more. */
const hopeless = 3;

/**
 * Runs the queued rollouts of one run on `n_runners` warm workers, one rollout at a time each. A worker has loaded the agent's
 * source as it is, or under one overlay; for a rollout that wants another, an idle worker is replaced.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #workspace: string;
  readonly #queue: Queue;
  readonly #workers = new Set<WorkerProcess>();
  readonly #loading = new Set<WorkerProcess>();
  readonly #idle = new Set<WorkerProcess>();
  /** What each worker runs, or ran last: late output and spans belong there. */
  readonly #executions = new Map<WorkerProcess, AttemptExecution>();
  readonly #running = new Set<Promise<void>>();
  #target: number;
  #command: WorkerCommand | null = null;
  #connections: Connections | null = null;
  #reaper: Reaper | null = null;
  #unsubscribe = () => {};
  #stopping = false;
  #paused = false;
  #pumpScheduled = false;
  #started = 0;
  #failures = 0;
  #brokenReason: string | null = null;
  #fatalError = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#workspace = resolve(options.workspace);
    this.#queue = new Queue(options.store, options.run_id, cacheFolder(this.#workspace));
    this.#target = options.config.n_runners;
  }

  /** Resolves when the first worker has loaded the agent. Throws TrainerError 'environment' (no interpreter), 'agent' (it cannot be loaded) or 'cancelled' (stopped meanwhile). */
  async start(): Promise<void> {
    this.#command = await workerCommand(this.#options.agent, this.#options.config, this.#workspace);
    const connections = await Connections.listen();
    if (this.#stopping) {
      connections.close();
      throw stoppedWhileStarting();
    }
    this.#connections = connections;
    this.#reaper = new Reaper();
    // One first: an agent that cannot be loaded fails here, once, and the others find its transpiled files.
    const first = this.#spawn();
    try {
      await first.ready;
    } catch (error) {
      const stopped = this.#stopping;
      await this.stop();
      throw stopped ? stoppedWhileStarting() : error;
    }
    this.#unsubscribe = this.#options.store.onEvent((event) => this.#notice(event));
    this.#fill();
  }

  /** Changes how many rollouts run at a time. Busy workers finish theirs first. */
  setRunners(n: number): void {
    this.#target = n;
    for (const worker of this.#idle) if (this.#workers.size > n) this.#dismiss(worker);
    this.#fill();
  }

  /** While paused no further rollout begins; running ones finish. */
  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.#schedulePump();
  }

  /** Ends all workers; running attempts end as cancelled. Resolves when their processes are gone and their outcomes recorded. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    const workers = [...this.#workers];
    for (const worker of workers) worker.kill('the runner stopped', { kind: 'cancelled' });
    await Promise.all([...workers.map((worker) => worker.gone), ...this.#running]);
    this.#connections?.close();
    await this.#reaper?.close();
  }

  #fill(): void {
    if (this.#connections === null) return; // not started yet: it will begin with the target
    while (!this.#stopping && this.#brokenReason === null && this.#workers.size < this.#target) this.#spawn();
  }

  #spawn(overlay: Overlay | null = null): WorkerProcess {
    const { agent, run_id, gateway, store } = this.#options;
    const id = `${run_id}-w${++this.#started}`;
    const command = this.#command!;
    const worker: WorkerProcess = new WorkerProcess({
      id, overlay, command: { ...command, env: { ...command.env, ...environmentOf(overlay) } }, connections: this.#connections!, reaper: this.#reaper!,
      load: { type: 'load', file: agent.file, name: agent.name, workspace: this.#workspace, gateway: gateway.url, resources: this.#options.resources ?? [] },
      onSpan: (kind, span) => this.#guarded(() => this.#span(worker, kind, span)),
      onOutput: (stream, text) => this.#guarded(() => this.#executions.get(worker)?.logs.write(stream, text)),
    });
    this.#workers.add(worker);
    this.#loading.add(worker);
    worker.ready.then(() => this.#guarded(() => {
      if (this.#stopping || worker.isDead) return;
      this.#loading.delete(worker);
      store.heartbeat(id);
      this.#release(worker);
    }), (error: unknown) => this.#notLoaded(worker, messageOf(error)));
    void worker.gone.then(() => this.#left(worker));
    return worker;
  }

  /** The worker can take the next rollout, or is one too many. */
  #release(worker: WorkerProcess): void {
    if (this.#workers.size > this.#target) return this.#dismiss(worker);
    this.#idle.add(worker);
    this.#schedulePump();
  }

  #dismiss(worker: WorkerProcess): void {
    this.#forget(worker);
    worker.kill('it is no longer needed');
  }

  #left(worker: WorkerProcess): void {
    if (this.#idle.has(worker)) this.#failed('workers die while they wait for work');
    this.#forget(worker);
    this.#executions.delete(worker);
    this.#guarded(() => this.#pump());
    this.#fill();
  }

  #notLoaded(worker: WorkerProcess, reason: string): void {
    if (worker.overlay === null) this.#failed(reason);
    else this.#queue.refuse(worker.overlay, reason); // the overlay's fault: without it the agent was loaded
  }

  #forget(worker: WorkerProcess): void {
    this.#loading.delete(worker);
    this.#idle.delete(worker);
    this.#workers.delete(worker);
  }

  #failed(reason: string): void {
    this.#failures += 1;
    if (this.#failures < hopeless || this.#stopping) return;
    this.#brokenReason = reason;
    this.#schedulePump();
  }

  #notice(event: TrainerEvent): void {
    if (event.type !== 'rollout' || event.run_id !== this.#options.run_id) return;
    const { status, attempt } = event.rollout;
    if (status === 'queuing' || status === 'requeuing') this.#schedulePump();
    // Ended by someone else (cancelled, or the store's time limit) while its worker still runs it. An unresponsive one may come back.
    if (!attempt?.outcome || attempt.status === 'unresponsive') return;
    for (const execution of this.#executions.values()) {
      if (execution.attempt_id === attempt.attempt_id) execution.stop({ kind: 'over', reason: attempt.error ?? attempt.outcome });
    }
  }

  /** Not at once: this is called inside the store's own calls, once for each rollout of a batch. */
  #schedulePump(): void {
    if (this.#pumpScheduled || this.#stopping) return;
    this.#pumpScheduled = true;
    setImmediate(() => {
      this.#pumpScheduled = false;
      if (!this.#stopping) this.#guarded(() => this.#pump());
    });
  }

  #pump(): void {
    if (this.#paused || this.#stopping) return;
    const { store, run_id } = this.#options;
    if (this.#brokenReason !== null && this.#workers.size === 0) {
      // Nobody will ever take them: say so instead of waiting for ever.
      for (let rollout = store.dequeueRollout(run_id, { run_id }); rollout; rollout = store.dequeueRollout(run_id, { run_id })) {
        store.finishAttempt(rollout.rollout_id, rollout.attempt!.attempt_id, { outcome: 'infra_error', error: `No worker could be started, ${hopeless} times in a row: ${this.#brokenReason}` });
      }
      return;
    }
    const idle = [...this.#idle].filter((worker) => !worker.isDead);
    let vacant = Math.max(0, this.#target - this.#workers.size);
    const waiting = this.#queue.oldest(idle.length + this.#loading.size + vacant);
    const { matches, spare, wanted } = deal(waiting, idle, [...this.#loading]);
    for (const { rollout: { rollout_id }, worker } of matches) {
      const rollout = store.dequeueRollout(worker.id, { rollout_id });
      if (rollout) this.#execute(worker, rollout);
    }
    for (const overlay of wanted) {
      if (vacant > 0 && this.#brokenReason === null) vacant -= 1;
      else {
        const worker = spare.shift();
        if (!worker) break; // those that load or are busy will be
        this.#dismiss(worker);
      }
      this.#spawn(overlay);
    }
  }

  #execute(worker: WorkerProcess, rollout: AttemptedRollout): void {
    const { store, gateway, modelName, config } = this.#options;
    const execution = new AttemptExecution(store, rollout, worker);
    this.#idle.delete(worker);
    this.#executions.set(worker, execution);
    const running = execution.run(gateway, modelName(), config.timeout_seconds).then(() => {
      if (worker.isDead) return;
      this.#failures = 0;
      this.#release(worker);
    }, (error: unknown) => this.#fatal(error)).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #span(worker: WorkerProcess, kind: 'begin' | 'end', span: WorkerSpan): void {
    const execution = this.#executions.get(worker);
    if (execution?.attempt_id === span.attempt_id) {
      execution.spans[kind](span);
      setImmediate(() => this.#guarded(() => execution.spans.flush())); // what arrives together goes into one transaction
    } else execution?.logs.note(`A span of attempt ${span.attempt_id} came after its end and is not kept (${span.name}).`);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fatal(error);
    }
  }

  #fatal(error: unknown): void {
    if (this.#fatalError) return;
    this.#fatalError = true;
    void this.stop();
    const { onError } = this.#options;
    if (onError) onError(error);
    else queueMicrotask(() => { throw error instanceof Error ? error : new TrainerError('internal', String(error)); });
  }
}

function stoppedWhileStarting(): TrainerError {
  return new TrainerError('cancelled', 'The agent\'s workers were stopped while they started.');
}
