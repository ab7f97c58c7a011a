import path from 'node:path';
import { z } from 'zod';
import { loadTasks, type Task } from '../datasets/tasks.ts';
import type { Lab } from '../optimize/lab.ts';
import { noCost } from '../optimize/meter.ts';
import { fingerprintOf, partsOf, type Parts } from '../optimize/parts.ts';
import { Proposer } from '../optimize/proposer.ts';
import { heldOutReport, reserveFor, selectWinner } from '../optimize/report.ts';
import { RolloutEvaluator } from '../optimize/rollout-evaluator.ts';
import { search } from '../optimize/search.ts';
import { overlayOf } from '../prompts/overlay.ts';
import { RunnerConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import { OptimizeRequest, OptimizeResult, type Candidate, type SearchRecord } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { StartRun } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import type { AgentSpec } from '../runner/agent-spec.ts';
import { agentName, withAgents } from './agents.ts';
import { modelOfChoice, withBackend, type EditorModels, type ModelSource } from './backends.ts';
import { fingerprintCode } from './code-fingerprint.ts';
import { modelOf, requireAgentAndData, withoutKey, withoutSecret } from './dev-run.ts';
import { withOptimizer } from './optimizer-model.ts';
import type { Prepared } from './prepared.ts';
import { promptRules } from './prompt-rules.ts';
import { choosePrompts, promptsOf } from './prompts.ts';
import { RunningSearch } from './running-search.ts';
import { setPhase, type RunContext, type Session } from './session.ts';

interface OptimizePlan {
  agent: AgentSpec;
  data: string;
  request: OptimizeRequest;
  model: ModelSource;
  /** null: the agent's own model. */
  optimizer: ModelSource | null;
  runner: RunnerConfig;
  seed: number;
}

/** A search for better prompts. Throws TrainerError when the request is incomplete or wrong. */
export function prepareOptimize(request: StartRun, workspace: string, editor?: EditorModels): Prepared {
  const { agent, data, config } = requireAgentAndData(request, workspace);
  const optimize = OptimizeRequest.parse(request.optimize ?? {});
  if (request.model?.kind === 'editor') throw new TrainerError('bad_input', 'A search runs the agent hundreds of times, which the terms of the editor\'s models do not allow. Run the agent with a model server; the editor\'s model can be the optimiser.');
  if (optimize.budget.usd !== undefined && !optimize.prices) throw new TrainerError('bad_input', 'A budget in US dollars needs "prices": what a million input and output tokens cost.');
  const plan: OptimizePlan = {
    agent, data,
    request: optimize,
    model: modelOf(request, { agent, config }, workspace),
    optimizer: optimize.optimizer ? modelOfChoice(optimize.optimizer, editor) : null,
    runner: config?.config.runner ?? RunnerConfig.parse({}),
    seed: request.seed ?? config?.config.seed ?? 0,
  };
  const kept = { ...withoutSecret(request), optimize: { ...optimize, optimizer: withoutSecret({ model: optimize.optimizer }).model } };
  return {
    agent: agentName(agent, workspace),
    config: { request: kept, data, runner: plan.runner, seed: plan.seed, model: withoutKey(plan.model), optimizer: plan.optimizer && withoutKey(plan.optimizer) },
    execute: (session) => executeOptimize(session, plan),
  };
}

const Stored = z.looseObject({ request: StartRun });

/**
 * The rest of an earlier search, as it was asked for; models may be named again, for their keys are not kept. One that succeeded goes on only
 * to score what was written by hand since. Throws TrainerError when it cannot go on.
 */
export function resumeOptimize(run: Run, request: StartRun, { store, workspace }: RunContext, editor?: EditorModels): Prepared {
  const unscored = store.listCandidates(run.run_id).some(({ origin, status }) => origin === 'hand' && status === 'proposed');
  if (run.status === 'succeeded' && !unscored) throw new TrainerError('conflict', `Run ${run.run_id} has succeeded; there is nothing to resume. Start a new run.`);
  const { request: first } = Stored.parse(run.config); // written by `prepareOptimize`
  const optimizer = request.optimize?.optimizer ?? first.optimize?.optimizer;
  return prepareOptimize({ ...first, model: request.model ?? first.model, optimize: { ...OptimizeRequest.parse(first.optimize ?? {}), optimizer } }, workspace, editor);
}

async function executeOptimize(session: Session, plan: OptimizePlan): Promise<OptimizeResult> {
  const { workspace, run_id } = session;
  const { request, agent } = plan;
  const found = promptsOf(agent, workspace);
  const prompts = request.algorithm === 'baseline' ? found : choosePrompts(found, request.prompts, agent);
  const parts = await loadParts(plan, workspace);
  const record = beginRecord(session, plan, prompts, parts);
  return withBackend(session, run_id, plan.model, ({ modelName }) =>
    withOptimizer(session, plan.optimizer, modelName, (ask) =>
      withAgents(session, agent, plan.runner, () => modelName, (signal) => {
        const rules = promptRules(prompts, request, parts);
        const running = new RunningSearch({ session, signal, request, record, parts, seed: plan.seed, check: rules.check, evaluator: evaluatorOf(session, plan, prompts, modelName) });
        return session.searches.during(run_id, running, () => searchAndReport(session, plan, running, new Proposer(running.lab, { ask, ...rules }), parts));
      })));
}

/** The search, unless it is over already; then the report on tasks that it has never seen. */
async function searchAndReport(session: Session, { request }: OptimizePlan, running: RunningSearch, proposer: Proposer, { test }: Parts): Promise<OptimizeResult> {
  const { lab } = running;
  setPhase(session, 'searching');
  const stopped = running.over ?? await withinMinutes(lab, request.budget.minutes, () => search(request.algorithm, lab, proposer, request));
  await running.handScored();
  running.ended(stopped);

  setPhase(session, 'reporting');
  const winner = await selectWinner(lab);
  running.chose(winner);
  const report = await heldOutReport(lab, winner, test);
  running.chose(winner); // with what the report has cost
  const { spent } = lab.meter;
  const changed = lab.prompts.find(({ prompt_id, text }) => winner.texts[prompt_id] !== text) ?? lab.prompts[0];
  return {
    run_id: session.run_id,
    ...report,
    best: {
      ...report.best, candidate_id: winner.candidate_id,
      prompt: changed ? winner.texts[changed.prompt_id] ?? changed.text : '',
      prompts: winner.texts,
      resources_id: winner.origin === 'source' ? null : keepPrompts(session, lab.prompts, winner),
    },
    stopped,
    candidates: lab.pool.all.length,
    rollouts: spent.rollouts,
    cost: spent,
  };
}

function evaluatorOf({ store, run_id, workspace }: Session, { runner, model, seed }: OptimizePlan, prompts: readonly Prompt[], modelName: string): RolloutEvaluator {
  const code = fingerprintCode(workspace);
  const conditions = JSON.stringify([code ?? run_id, withoutKey(model), modelName, runner.env]);
  return new RolloutEvaluator({ source: { store, run_id, backend: run_id, limits: runner }, conditions, seed, overlay: (texts) => overlayOf(workspace, prompts, texts) });
}

/** Ends the search, not the report, when its time is up. */
async function withinMinutes<T>(lab: Lab, minutes: number | undefined, work: () => Promise<T>): Promise<T> {
  const timer = minutes === undefined ? undefined : setInterval(() => { if (lab.meter.spent.seconds > minutes * 60) lab.end('budget'); }, 1000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

async function loadParts({ data, request, seed }: OptimizePlan, workspace: string): Promise<Parts> {
  const load = async (file: string | undefined) => (file === undefined ? null : loadTasks(path.resolve(workspace, file)));
  const given = { data: await loadTasks(data), validation: await load(request.validation), test: await load(request.test) };
  const parts = partsOf(given, { algorithm: request.algorithm, budget: request.budget, seed });
  const least = reserveFor(parts, request.budget.rollouts) + parts.validation.length + 2;
  if (request.algorithm !== 'baseline' && request.budget.rollouts !== undefined && request.budget.rollouts < least) {
    throw new TrainerError('bad_input', `A budget of ${request.budget.rollouts} rollouts is too small: measuring the ${parts.test.length} held-out tasks twice and the ${parts.validation.length} validation tasks once leaves nothing to search with. Give at least ${3 * least}, or smaller files of tasks.`);
  }
  return parts;
}

/** A new record, or that of the search that goes on; its tasks and prompts must be as they were. */
function beginRecord({ store, run_id }: Session, { request }: OptimizePlan, prompts: Prompt[], parts: Parts): SearchRecord {
  const fingerprint = fingerprintOf(parts, Object.fromEntries(prompts.map(({ prompt_id, text }) => [prompt_id, text])));
  const earlier = store.getSearch(run_id);
  if (earlier && earlier.fingerprint !== fingerprint) throw new TrainerError('conflict', `The tasks or the prompts have changed since the search ${run_id} began, so it cannot go on. Put them back as they were, or start a new one.`);
  const ids = (tasks: Task[]) => tasks.map(({ id }) => id);
  const record: SearchRecord = {
    stopped: null, spent: noCost(), best: 'c0', ...earlier, run_id, algorithm: request.algorithm, budget: request.budget, prompts, fingerprint,
    parts: { train: ids(parts.train), validation: ids(parts.validation), test: ids(parts.test) },
  };
  store.saveSearch(record);
  return record;
}

/** The texts as a versioned bundle of resources, by prompt id. The same winner of a search that went on has one already. */
function keepPrompts({ store, run_id }: Session, prompts: readonly Prompt[], { candidate_id, texts }: Candidate): string {
  const before = OptimizeResult.safeParse(store.getRun(run_id)?.result).data?.best;
  if (before?.candidate_id === candidate_id && before.resources_id !== null) return before.resources_id;
  return store.addResources(Object.fromEntries(prompts.map(({ prompt_id, engine, text }) => [prompt_id, {
    resource_type: 'prompt_template' as const, template: texts[prompt_id] ?? text, engine: engine === 'jinja' ? 'jinja' as const : 'f-string' as const,
  }]))).resources_id;
}
