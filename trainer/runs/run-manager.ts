import { messageOf, TrainerError } from '../protocol/errors.ts';
import { StartRun } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import { parseAs } from '../protocol/validate.ts';
import { newId } from '../store/ids.ts';
import { prepareDev } from './dev-run.ts';
import { prepareEval } from './eval-run.ts';
import { claim, livingOwner, newManager, retireManager } from './owner.ts';
import type { Prepared } from './prepared.ts';
import { isOver, recoverRuns } from './recover.ts';
import { notice, runFolder, type RunContext, type Session } from './session.ts';
import { prepareResume, prepareTrain } from './train-run.ts';

interface ActiveRun { kind: Run['kind']; controller: AbortController; ended: Promise<Run> }

/** Why a run was stopped; the abort reason. */
type StopReason = 'cancel' | 'close';

/** Starts runs, stops them, and knows which of the store's runs are alive. */
export class RunManager {
  readonly #context: RunContext;
  readonly #active = new Map<string, ActiveRun>();
  readonly #manager = newManager();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Checks the request and starts the run; its progress and end arrive as store events. With `resume`, an earlier
   * training run goes on after its last checkpoint. Throws TrainerError on a wrong request, naming file and field.
   */
  start(request: StartRun): Run {
    const parsed = parseAs(StartRun, request, 'The request');
    const { store, workspace } = this.#context;
    if (parsed.resume !== undefined) return this.#resume(parsed, parsed.resume);
    const prepared = prepare[parsed.kind](parsed, workspace);
    const run_id = newId('ru');
    claim(runFolder(workspace, run_id), this.#manager); // first: a run without an owner looks dead to other trainers
    const run = store.createRun({
      run_id, kind: parsed.kind, status: 'running', phase: 'starting', agent: prepared.agent, config: prepared.config,
      create_time: Date.now() / 1000, end_time: null, error: null, result: null,
    });
    this.#launch(run, prepared);
    return run;
  }

  /** Stops a run; resolves when it has ended and its agent processes are gone. */
  async cancel(run_id: string): Promise<Run> {
    const active = this.#active.get(run_id);
    if (!active) throw this.#notHere(this.#require(run_id), 'cancelled');
    active.controller.abort('cancel' satisfies StopReason);
    return active.ended;
  }

  /** The run as it ended, however it ended. */
  async wait(run_id: string): Promise<Run> {
    const active = this.#active.get(run_id);
    if (active) return active.ended;
    const run = this.#require(run_id);
    if (isOver(run)) return run;
    throw this.#notHere(run, 'awaited');
  }

  /** Marks the runs of dead trainers as interrupted. Runs of other living trainers stay as they are. */
  recover(): Run[] {
    return recoverRuns(this.#context.store, this.#context.workspace);
  }

  /** Whether a training run of this trainer is going. */
  get training(): boolean {
    return [...this.#active.values()].some((active) => active.kind === 'train');
  }

  /** Resolves once no training run of this trainer is going. */
  async whenNoTraining(): Promise<void> {
    while (this.training) await Promise.all([...this.#active.values()].filter((active) => active.kind === 'train').map((active) => active.ended));
  }

  /** Ends all runs of this trainer: training runs as interrupted (they can be resumed), others as cancelled. */
  async close(): Promise<void> {
    const active = [...this.#active.values()];
    for (const { controller } of active) controller.abort('close' satisfies StopReason);
    await Promise.all(active.map(({ ended }) => ended));
    retireManager(this.#manager);
  }

  #resume(request: StartRun, run_id: string): Run {
    const { store, workspace } = this.#context;
    const run = this.#require(run_id);
    const owner = isOver(run) ? null : livingOwner(runFolder(workspace, run_id));
    if (owner !== null) throw new TrainerError('conflict', `Run ${run_id} is still going in process ${owner}. Cancel it first.`);
    const prepared = prepareResume(run, request, workspace);
    claim(runFolder(workspace, run_id), this.#manager);
    store.cancelRollouts({ run_id }); // of the interrupted step: made anew with the same seeds
    const resumed = store.updateRun(run_id, { status: 'running', phase: 'starting', end_time: null, error: null, result: null });
    this.#launch(resumed, prepared);
    return resumed;
  }

  #launch({ run_id, kind }: Run, prepared: Prepared): void {
    const folder = runFolder(this.#context.workspace, run_id);
    const controller = new AbortController();
    const session: Session = { ...this.#context, run_id, folder, signal: controller.signal };
    const ended = Promise.resolve() // the caller hears of the start before the run does anything
      .then(() => prepared.execute(session))
      .then((result): Partial<Run> => ({ status: 'succeeded', phase: 'done', result }), (error: unknown) => endedBadly(session, kind, error))
      .then((patch) => {
        this.#active.delete(run_id);
        return this.#context.store.updateRun(run_id, { ...patch, end_time: Date.now() / 1000 });
      });
    ended.catch(() => undefined); // the store failed: told to whoever waits, and the process goes on
    this.#active.set(run_id, { kind, controller, ended });
  }

  #require(run_id: string): Run {
    const run = this.#context.store.getRun(run_id);
    if (!run) throw new TrainerError('not_found', `There is no run ${run_id} in this workspace. "agent-trainer runs" lists them.`);
    return run;
  }

  #notHere(run: Run, verb: string): TrainerError {
    if (isOver(run)) return new TrainerError('conflict', `Run ${run.run_id} has already ended (${run.status}); it cannot be ${verb}.`);
    const owner = livingOwner(runFolder(this.#context.workspace, run.run_id));
    return new TrainerError('conflict', `Run ${run.run_id} belongs to another trainer${owner === null ? '' : ` (process ${owner})`}; it cannot be ${verb} from here.`);
  }
}

const prepare: Record<Run['kind'], (request: StartRun, workspace: string) => Prepared> = { dev: prepareDev, train: prepareTrain, eval: prepareEval };

/** How a run that threw is recorded: stopped on purpose, or failed with its reason. */
function endedBadly(session: Session, kind: Run['kind'], error: unknown): Partial<Run> {
  const stopped = session.signal.aborted ? (session.signal.reason as StopReason) : null;
  if (stopped === 'close' && kind === 'train') return { status: 'interrupted', error: `The trainer was closed. Continue the run with: agent-trainer train --resume ${session.run_id}` };
  if (stopped !== null) return { status: 'cancelled', error: error instanceof TrainerError && error.code === 'cancelled' ? null : messageOf(error) };
  if (!(error instanceof TrainerError) && error instanceof Error) notice(session, 'warning', `Unexpected error: ${error.stack ?? error.message}`);
  return { status: 'failed', error: messageOf(error) };
}
