import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { DebugLaunch, DebugRequest, ModelsAgain } from '../protocol/endpoints.ts';
import { StartRun } from '../protocol/rpc.ts';
import { bestStep, Checkpoints } from '../algorithms/checkpoints.ts';
import type { Checkpoint, Run } from '../protocol/run.ts';
import { OptimizeRequest, type Candidate } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import type { Provider } from '../protocol/providers.ts';
import type { TaskList } from '../protocol/tasks.ts';
import { parseAs } from '../protocol/validate.ts';
import { resolveAgent } from '../runner/agent-spec.ts';
import { cacheFolder, cleanCache } from '../runner/clean-cache.ts';
import { newId } from '../store/ids.ts';
import type { EditorModels } from './backends.ts';
import { loadConfig } from './config-file.ts';
import { prepareDebug } from './debug-run.ts';
import { prepareDev } from './dev-run.ts';
import { prepareEval } from './eval-run.ts';
import { exportRun, type Exported } from './export-run.ts';
import { claim, livingOwner, newManager, retireManager } from './owner.ts';
import { prepareOptimize, resumeOptimize } from './optimize-run.ts';
import type { Prepared } from './prepared.ts';
import { isOver, isResumable, recoverRuns, resumeCommand } from './recover.ts';
import { RunControl } from './run-control.ts';
import { promptsOf } from './prompts.ts';
import { prepareReplay } from './replay-run.ts';
import { notice, runFolder, type RunContext, type Session } from './session.ts';
import { Searches, type LiveSearch } from './searches.ts';
import { StallWatch } from './stall-watch.ts';
import { loadValidation } from './train-data.ts';
import { checkpointFolder, prepareResume, prepareTrain } from './train-run.ts';

interface ActiveRun { kind: Run['kind']; controller: AbortController; control: RunControl; ended: Promise<Run> }

/** Why a run was stopped; the abort reason. */
type StopReason = 'cancel' | 'close';

/** Starts runs, stops them, and knows which of the store's runs are alive. */
export class RunManager {
  readonly #context: RunContext;
  readonly #active = new Map<string, ActiveRun>();
  readonly #manager = newManager();
  readonly searches: Searches;
  /** For models of the Hugging Face hub; null: what the trainer's environment has. */
  hubToken: string | null = null;

  constructor(context: RunContext) {
    this.#context = context;
    this.searches = new Searches(context.store);
  }

  /**
   * Checks the request and starts the run; its progress and end arrive as store events. With `resume`, an earlier
   * training run goes on after its last checkpoint, an earlier search where it was. Throws TrainerError on a wrong request, naming file and field.
   */
  start(request: StartRun, editor?: EditorModels): Run {
    const parsed = parseAs(StartRun, request, 'The request');
    const { workspace } = this.#context;
    if (parsed.resume !== undefined) return this.#resume(parsed, parsed.resume, editor);
    if (parsed.model !== undefined && parsed.kind === 'train') throw new TrainerError('bad_input', `"model" is for dry runs, evaluations and searches; a run of kind "${parsed.kind}" takes its model from its configuration or "policy".`);
    return this.#begin(parsed.kind, parsed.replay ? prepareReplay(parsed, parsed.replay, this.#context) : prepare[parsed.kind](parsed, workspace, editor), parsed.provider);
  }

  /** Prepares one rollout for a debugger; its run ends with the worker that the debugger starts. Throws TrainerError. */
  async debug(request: DebugRequest, editor?: EditorModels): Promise<DebugLaunch> {
    const { prepared, launch } = await prepareDebug(request, this.#context.workspace, editor);
    const { run_id } = this.#begin('dev', prepared);
    // Why it ended is told as for any run.
    const ended = this.wait(run_id).then(({ error }) => { throw new TrainerError('cancelled', error ?? 'The run ended before its worker could be started.'); });
    return Promise.race([launch, ended]);
  }

  #begin(kind: Run['kind'], prepared: Prepared, provider?: Provider): Run {
    const { store, workspace } = this.#context;
    const run_id = newId('ru');
    claim(runFolder(workspace, run_id), this.#manager); // first: a run without an owner looks dead to other trainers
    const run = store.createRun({
      run_id, kind, status: 'running', phase: 'starting', agent: prepared.agent, config: prepared.config,
      create_time: Date.now() / 1000, end_time: null, error: null, result: null,
    });
    this.#launch(run, prepared, provider);
    return run;
  }

  /** Stops a run; resolves when it has ended and its agent processes are gone. */
  async cancel(run_id: string): Promise<Run> {
    const active = this.#active.get(run_id);
    if (!active) throw this.#notHere(this.#require(run_id), 'cancelled');
    active.controller.abort('cancel' satisfies StopReason);
    return active.ended;
  }

  /** No new rollout of the run begins; what is under way finishes first. */
  pause(run_id: string): Run {
    return this.#control(run_id, 'paused').pause();
  }

  /** Lets a paused run go on; an ended training run goes on after its last checkpoint, a search where it was. */
  resume(run_id: string, editor?: EditorModels, models: ModelsAgain = {}): Run {
    const active = this.#active.get(run_id);
    return active ? active.control.resume() : this.start(resumption(this.#require(run_id), models), editor);
  }

  /** The prompts that reach an agent (`path[:name]`). Throws TrainerError 'bad_input' when there is no such agent. */
  prompts(agent: string): Prompt[] {
    return promptsOf(resolveAgent(agent, this.#context.workspace), this.#context.workspace);
  }

  /** Ends a search with the best so far; resolves when its report is made. */
  async finish(run_id: string): Promise<Run> {
    this.#liveSearch(run_id, 'finished').finish();
    return this.wait(run_id);
  }

  /** Adds a candidate written by hand to a search; one that has ended goes on to score it. */
  addCandidate({ run_id, parent, texts }: { run_id: string; parent: string; texts: Record<string, string> }, editor?: EditorModels, models: ModelsAgain = {}): Candidate {
    const live = this.searches.live(run_id);
    if (live) return live.add(parent, texts);
    const run = this.#require(run_id);
    if (!isOver(run)) throw this.#notHere(run, 'added to');
    const candidate = this.searches.addRecorded(run_id, parent, texts);
    this.start(resumption(run, models), editor);
    return candidate;
  }

  pinCandidate(run_id: string, candidate_id: string, pinned: boolean): Candidate {
    const live = this.searches.live(run_id);
    return live ? live.pin(candidate_id, pinned) : this.searches.pinRecorded(run_id, candidate_id, pinned);
  }

  setRunners(run_id: string, n: number): Run {
    return this.#control(run_id, 'changed').setRunners(n);
  }

  /** The validation tasks of a configuration. Throws TrainerError 'not_found' or 'bad_input'. */
  async tasks(config_path: string): Promise<TaskList> {
    const { config, folder } = loadConfig(path.resolve(this.#context.workspace, config_path));
    const { file, tasks } = await loadValidation(config, folder);
    return { agent: config.agent, file, tasks: tasks.map(({ id, input, line }) => ({ task_id: id, input, line })) };
  }

  /** Complete checkpoints of a run, oldest first; none of a run that trains nothing. */
  checkpoints(run_id: string): Checkpoint[] {
    const steps = this.#context.store.listSteps(run_id);
    const best = bestStep(steps);
    return new Checkpoints(checkpointFolder(runFolder(this.#context.workspace, run_id)), 1).list()
      .map((checkpoint) => ({ ...checkpoint, val_reward: steps.find(({ step }) => step === checkpoint.step)?.val_reward ?? null, best: checkpoint.step === best }));
  }

  /** Removes an ended run from the store, and its files. Throws TrainerError 'conflict' while it goes on. */
  delete(run_id: string): void {
    const { store, workspace } = this.#context;
    const run = this.#require(run_id);
    const folder = runFolder(workspace, run_id);
    if (!isOver(run)) throw new TrainerError('conflict', `Run ${run_id} is still going. Stop it first, then delete it.`);
    store.deleteRun(run_id);
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      throw new TrainerError('environment', `Run ${run_id} is deleted, but its folder ${folder} is not: ${messageOf(error)}. Remove the folder by hand.`, { cause: error });
    }
  }

  /** Writes a run into the folder `target`, which must not exist. Throws TrainerError 'conflict' or 'environment'. */
  async export(run_id: string, target: string): Promise<Exported> {
    const { store, workspace } = this.#context;
    const policy = path.join(runFolder(workspace, run_id), 'policy');
    return exportRun(store, this.#require(run_id), { checkpoints: this.checkpoints(run_id), policy: existsSync(policy) ? policy : null }, path.resolve(workspace, target));
  }

  /** The run as it ended, however it ended. */
  async wait(run_id: string): Promise<Run> {
    const active = this.#active.get(run_id);
    if (active) return active.ended;
    const run = this.#require(run_id);
    if (isOver(run)) return run;
    throw this.#notHere(run, 'awaited');
  }

  /** Marks the runs of dead trainers as interrupted, and keeps the cache small. Runs of other living trainers stay as they are. */
  recover(): Run[] {
    cleanCache(cacheFolder(this.#context.workspace));
    return recoverRuns(this.#context.store, this.#context.workspace);
  }

  /** Whether a training run or a search of this trainer is going: those that outlive the window that started them. */
  get training(): boolean {
    return this.#resumables().length > 0;
  }

  /** Resolves once no training run and no search of this trainer is going. */
  async whenNoTraining(): Promise<void> {
    while (this.training) await Promise.all(this.#resumables().map((active) => active.ended));
  }

  #resumables(): ActiveRun[] {
    return [...this.#active.values()].filter(({ kind }) => isResumable(kind));
  }

  /** Ends all runs of this trainer: training runs and searches as interrupted (they can be resumed), others as cancelled. */
  async close(): Promise<void> {
    const active = [...this.#active.values()];
    for (const { controller } of active) controller.abort('close' satisfies StopReason);
    await Promise.all(active.map(({ ended }) => ended));
    retireManager(this.#manager);
  }

  #resume(request: StartRun, run_id: string, editor: EditorModels | undefined): Run {
    const { store, workspace } = this.#context;
    const run = this.#require(run_id);
    const owner = isOver(run) ? null : livingOwner(runFolder(workspace, run_id));
    if (owner !== null) throw new TrainerError('conflict', `Run ${run_id} is still going in process ${owner}. Cancel it first.`);
    const prepared = run.kind === 'optimize' ? resumeOptimize(run, request, this.#context, editor) : prepareResume(run, request, workspace);
    claim(runFolder(workspace, run_id), this.#manager);
    store.cancelRollouts({ run_id }); // of the interrupted step: made anew with the same seeds
    const resumed = store.updateRun(run_id, { status: 'running', phase: 'starting', end_time: null, error: null, error_code: null, result: null });
    this.#launch(resumed, prepared, request.provider);
    return resumed;
  }

  #launch({ run_id, kind }: Run, prepared: Prepared, provider?: Provider): void {
    const folder = runFolder(this.#context.workspace, run_id);
    const controller = new AbortController();
    const control = new RunControl(this.#context.store, run_id);
    const stall = new StallWatch(this.#context, run_id);
    const session: Session = { ...this.#context, run_id, folder, control, searches: this.searches, provider, hubToken: () => this.hubToken, signal: controller.signal };
    const ended = Promise.resolve() // the caller hears of the start before the run does anything
      .then(() => prepared.execute(session))
      .then((result): Partial<Run> => ({ status: 'succeeded', phase: 'done', result }), (error: unknown) => endedBadly(session, kind, error))
      .then((patch) => {
        this.#active.delete(run_id);
        return this.#context.store.updateRun(run_id, { ...patch, pause: null, end_time: Date.now() / 1000 });
      })
      .finally(() => {
        control.end();
        stall.end();
      });
    ended.catch(() => undefined); // the store failed: told to whoever waits, and the process goes on
    this.#active.set(run_id, { kind, controller, control, ended });
  }

  #liveSearch(run_id: string, verb: string): LiveSearch {
    const live = this.searches.live(run_id);
    if (!live) throw this.#notHere(this.#require(run_id), verb);
    return live;
  }

  #control(run_id: string, verb: string): RunControl {
    const active = this.#active.get(run_id);
    if (!active) throw this.#notHere(this.#require(run_id), verb);
    return active.control;
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

const prepare: Record<Run['kind'], (request: StartRun, workspace: string, editor?: EditorModels) => Prepared> = { dev: prepareDev, train: prepareTrain, eval: prepareEval, optimize: prepareOptimize };

function resumption({ kind, run_id }: Run, { model, optimizer }: ModelsAgain): StartRun {
  return { kind, resume: run_id, model, ...(optimizer ? { optimize: OptimizeRequest.parse({ optimizer }) } : {}) };
}

/** How a run that threw is recorded: stopped on purpose, or failed with its reason. */
function endedBadly(session: Session, kind: Run['kind'], error: unknown): Partial<Run> {
  const stopped = session.signal.aborted ? (session.signal.reason as StopReason) : null;
  if (stopped === 'close' && isResumable(kind)) return { status: 'interrupted', error: `The trainer was closed. Continue the run with: ${resumeCommand({ kind, run_id: session.run_id })}` };
  if (stopped !== null) return { status: 'cancelled', error: error instanceof TrainerError && error.code === 'cancelled' ? null : messageOf(error) };
  if (!(error instanceof TrainerError) && error instanceof Error) notice(session, 'warning', `Unexpected error: ${error.stack ?? error.message}`);
  const said = messageOf(error);
  const advice = kind === 'optimize' && session.store.getSearch(session.run_id) ? `${/[.!?]$/.test(said) ? '' : '.'} What was measured is kept: continue with ${resumeCommand({ kind, run_id: session.run_id })}` : '';
  return { status: 'failed', error: `${said}${advice}`, ...(error instanceof TrainerError ? { error_code: error.code } : {}) };
}
