import path from 'node:path';
import { rmSync } from 'node:fs';
import { z } from 'zod';
import { Checkpoints } from '../algorithms/checkpoints.ts';
import { evaluate, evaluationNotices, type Evaluation } from '../algorithms/evaluate.ts';
import { trainGrpo } from '../algorithms/grpo.ts';
import { trainOnExamples, type ExampleSet } from '../algorithms/train-examples.ts';
import type { RolloutSource } from '../algorithms/rollouts.ts';
import { loadBest, type TrainingJob } from '../algorithms/training-job.ts';
import { describeSelfCheck, selfCheck } from '../algorithms/self-check.ts';
import { compare } from '../evaluation/compare.ts';
import { describeMemory } from '../policy/describe-memory.ts';
import { fingerprintModel } from '../policy/fingerprint.ts';
import type { OpenPolicyOptions } from '../policy/open-policy.ts';
import { stepsOf, type TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import { targetsOf } from '../protocol/lora-config.ts';
import type { Policy } from '../protocol/policy.ts';
import type { StartRun } from '../protocol/rpc.ts';
import type { Run, TrainResult } from '../protocol/run.ts';
import { significant } from '../protocol/significant.ts';
import { resolveAgent, type AgentSpec } from '../runner/agent-spec.ts';
import { agentName, withAgents } from './agents.ts';
import { modelOfConfig, withPolicy } from './backends.ts';
import { checkConfig, loadConfig } from './config-file.ts';
import { describeComparison } from './describe-comparison.ts';
import { loadExampleSet } from './load-examples.ts';
import type { Prepared } from './prepared.ts';
import { notice, setPhase, type Session } from './session.ts';
import { loadTrainData, type TrainData } from './train-data.ts';

/** What a training run remembers beside its configuration, to go on after an interruption. */
const Origin = z.object({
  /** Folder the paths of the configuration are relative to. */
  folder: z.string(),
  /** Of the tasks; null until they have been read. */
  fingerprint: z.string().nullable(),
  /** Of the examples it learns from; null until they have been read, and where there are none. */
  examples: z.string().nullable().default(null),
  /** Of the model it began with; null until it has been read. */
  model: z.string().nullable().default(null),
  /** Of the adapter it began with; null until it has been read, and where there is none. */
  adapter: z.string().nullable().default(null),
});
type Origin = z.infer<typeof Origin>;

interface TrainPlan { config: TrainConfig; origin: Origin; agent: AgentSpec; policyFolder: string; lora: OpenPolicyOptions['lora'] }

/** Where a run keeps its checkpoints; `folder` is the run's. */
export function checkpointFolder(folder: string): string {
  return path.join(folder, 'checkpoints');
}

/** A new training run of a configuration file. Throws TrainerError on a wrong file, agent or model. */
export function prepareTrain(request: StartRun, workspace: string): Prepared {
  if (request.config_path === undefined) throw new TrainerError('bad_input', 'A train run needs "config_path": an agent-trainer.json.');
  const seed = request.seed === undefined ? {} : { seed: request.seed };
  const { config, folder } = loadConfig(path.resolve(workspace, request.config_path), { ...request.overrides, ...seed });
  return prepared({ config, origin: { folder, fingerprint: null, examples: null, model: null, adapter: null } }, workspace);
}

/** The rest of an earlier training run, with the configuration it began with. Throws TrainerError when it cannot go on. */
export function prepareResume(run: Run, request: StartRun, workspace: string): Prepared {
  if (run.kind !== 'train') throw new TrainerError('bad_input', `Run ${run.run_id} is a ${run.kind} run; only training runs can be resumed.`);
  if (run.status === 'succeeded') throw new TrainerError('conflict', `Run ${run.run_id} has succeeded; there is nothing to resume. Start a new run.`);
  if (request.overrides !== undefined || request.seed !== undefined || request.config_path !== undefined) throw new TrainerError('bad_input', 'A resumed run keeps its configuration: leave out config_path, seed and overrides, or start a new run.');
  const { origin, ...config } = z.looseObject({ origin: Origin }).parse(run.config); // written by `prepared`
  return prepared({ config: checkConfig(config, `The configuration of run ${run.run_id}`), origin }, workspace);
}

function prepared({ config, origin }: { config: TrainConfig; origin: Origin }, workspace: string): Prepared {
  const agent = resolveAgent(config.agent, origin.folder);
  const model = modelOfConfig(config, origin.folder);
  if (model.kind !== 'policy') throw new TrainerError('bad_input', 'Training changes the weights of a local policy: give "model.path" (a folder in Hugging Face layout) instead of "model.endpoint", which serves dry runs and evaluations.');
  const plan: TrainPlan = { config, origin, agent, policyFolder: model.folder, lora: model.lora ?? loraOf(config) };
  return { agent: agentName(agent, workspace), config: { ...config, origin }, execute: (session) => executeTrain(session, plan) };
}

async function executeTrain(session: Session, plan: TrainPlan): Promise<TrainResult> {
  const began = performance.now();
  const { run_id, folder } = session;
  const { config } = plan;
  const data = await loadTrainData(config, plan.origin.folder);
  for (const warning of data.warnings) notice(session, 'warning', warning);
  const { train_batch_size } = config.grpo;
  if (config.algorithm === 'grpo' && data.train.length < train_batch_size) notice(session, 'warning', `There are ${data.train.length} training tasks, fewer than grpo.train_batch_size (${train_batch_size}): every step uses all of them.`);

  return withPolicy(session, run_id, { folder: plan.policyFolder, threads: config.threads, provider: config.provider, lora: plan.lora }, async ({ modelName, policy }) => {
    const examples = await loadExampleSet(config, { store: session.store, folder: plan.origin.folder, model: plan.policyFolder, validation: data.validation });
    for (const message of examples?.notices ?? []) notice(session, 'info', message);
    notice(session, 'info', describeSteps(config, examples?.set.examples.length ?? data.train.length));
    if (plan.lora) notice(session, 'info', describeLora(config.model, policy.info));
    await noticeMemory(session, plan, policy.info.trainable_parameters);
    const adapter = plan.lora && 'adapter' in plan.lora ? await fingerprintModel(plan.lora.adapter) : null;
    rememberOrigin(session, plan, { adapter, fingerprint: data.fingerprint, examples: examples?.fingerprint ?? null, model: await fingerprintModel(plan.policyFolder) });
    return withAgents(session, plan.agent, config.runner, () => modelName, async (signal) => {
      const { before, after, step } = await train({ ...session, signal }, config, data, policy, examples?.set ?? null);
      const comparison = compare(before.scores, after.scores, config.seed);
      notice(session, 'info', describeComparison(comparison));
      return {
        run_id,
        steps: stepsOf(config)!,
        before: comparison.before,
        after: comparison.after,
        difference: comparison.difference,
        checkpoint: path.join(folder, 'policy'),
        checkpoint_step: step,
        wall_s: (performance.now() - began) / 1000, // of a resumed run: since it was resumed
      };
    });
  });
}

/** Self-check, evaluation, training, evaluation. A resumed run takes over what was finished. */
async function train(session: Session, config: TrainConfig, data: TrainData, policy: Policy, examples: ExampleSet | null): Promise<{ before: Evaluation; after: Evaluation; step: number }> {
  const { store, run_id, signal, folder } = session;
  const source: RolloutSource = { store, run_id, backend: run_id, limits: config.runner, signal };
  const measure = async (label: 'before' | 'after'): Promise<Evaluation> => {
    setPhase(session, `evaluating-${label}`);
    const evaluation = await evaluate(source, data.validation, { label, mode: 'val', step: null, sampling: config.eval_sampling, seed: config.seed });
    for (const message of evaluationNotices(label, evaluation)) notice(session, 'warning', message);
    return evaluation;
  };

  if (!examples) {
    setPhase(session, 'self-check');
    const report = await selfCheck(source, data.train[0]!, { sampling: config.sampling, seed: config.seed, agent_match: config.grpo.agent_match });
    notice(session, 'info', describeSelfCheck(report));
  }
  const before = await measure('before'); // with the weights the run began with, also after an interruption
  if (needsReference(config)) await policy.setReference();
  const checkpoints = new Checkpoints(checkpointFolder(folder), config.checkpoints.keep_last);
  const last = await checkpoints.restore(policy, (message) => notice(session, 'warning', message));
  if (last !== null) notice(session, 'info', `Continuing after step ${last + 1} of ${stepsOf(config)}.`);
  const firstStep = last === null ? 0 : last + 1;
  store.supersedeRollouts(run_id, firstStep); // of an interrupted try at these steps

  setPhase(session, 'training');
  const job: TrainingJob = {
    source, policy, config, checkpoints,
    validation: data.validation,
    firstStep,
    paused_s: () => session.control.paused_s,
    evaluation_s: before.wall_s,
    notice: (level, message) => notice(session, level, message),
  };
  await (examples ? trainOnExamples(job, examples) : trainGrpo({ ...job, train: data.train }));
  const step = await loadBest(job, stepsOf(config)!);
  if (config[config.algorithm]!.ema_decay > 0) await policy.adoptAverage();
  const result = path.join(folder, 'policy');
  rmSync(result, { recursive: true, force: true }); // of an attempt that was interrupted in its last evaluation
  await policy.save(result, { resumable: false });

  return { before, after: await measure('after'), step };
}

function needsReference({ algorithm, grpo }: TrainConfig): boolean {
  return algorithm === 'dpo' || (algorithm === 'grpo' && (grpo.kl_loss_coef > 0 || grpo.kl_coef > 0));
}

/** The factors that a configuration asks to train; null when the model itself is trained. */
function loraOf({ model: { lora_rank: rank, lora_alpha: alpha, target_modules, use_rslora: rslora, base_dtype: base }, seed }: TrainConfig): OpenPolicyOptions['lora'] {
  return rank > 0 ? { rank, alpha, targets: targetsOf(target_modules), rslora, seed, base } : null;
}

/** Says what the run will need of memory, and whether that is there. */
async function noticeMemory(session: Session, { config, policyFolder }: TrainPlan, trained: number): Promise<void> {
  const settings = config[config.algorithm];
  if (!settings) return; // the configuration is refused elsewhere
  const grpo = config.algorithm === 'grpo' ? config.grpo : null;
  const { fits, message } = await describeMemory(policyFolder, {
    trained, micro_batch_tokens: settings.micro_batch_tokens, enable_gradient_checkpointing: settings.enable_gradient_checkpointing,
    reference: needsReference(config), undo: grpo !== null && (grpo.ppo_epochs > 1 || grpo.ppo_mini_batch_size !== undefined),
    base: config.model.base_dtype, sampled: [config.eval_sampling.dtype, ...(grpo ? [config.sampling.dtype] : [])],
  });
  notice(session, fits ? 'info' : 'warning', message);
}

/** What decides most of how a run learns, defaults included. `available`: tasks or examples there are; a step takes none twice. */
function describeSteps(config: TrainConfig, available: number): string {
  const { steps, train_batch_size, lr } = config[config.algorithm]!; // without settings of its algorithm the configuration is refused
  const many = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  const batch = many(Math.min(train_batch_size, available), { grpo: 'task', sft: 'conversation', dpo: 'pair' }[config.algorithm]);
  return `${many(steps, 'step')} of ${batch}${config.algorithm === 'grpo' ? ` × ${many(config.grpo.group_size, 'rollout')}${config.sampling.dtype === 'float32' ? '' : ` sampled in ${config.sampling.dtype}`}` : ''}, learning rate ${lr}.`;
}

function describeLora({ lora_rank, lora_adapter_path, target_modules, base_dtype }: TrainConfig['model'], { parameters, trainable_parameters }: Policy['info']): string {
  const rounded = (count: number) => (count < 1e6 ? Number(significant(count, 3)).toLocaleString('en-US') : `${significant(count / 1e6, 3)} million`);
  const factors = lora_adapter_path === undefined ? `LoRA of rank ${lora_rank} on ${target_modules === 'all-linear' ? 'all linear layers' : targetsOf(target_modules).join(', ')}` : `LoRA, going on from the adapter in ${lora_adapter_path}`;
  return `${factors}: ${rounded(trainable_parameters)} parameters are trained, beside the model's ${rounded(parameters)}${base_dtype === 'float32' ? '' : `, whose linear layers are kept in ${base_dtype}`}.`;
}

/** Notes what the run is made from. Throws TrainerError 'conflict' when that has changed since it began. */
function rememberOrigin(session: Session, { config, origin, policyFolder }: TrainPlan, now: { fingerprint: string; examples: string | null; model: string; adapter: string | null }): void {
  const require = (what: string, before: string | null, after: string | null): void => {
    if (before !== null && before !== after) throw new TrainerError('conflict', `${what} changed since run ${session.run_id} began, so it cannot go on. Put the old one back, or start a new run.`);
  };
  require(`The tasks in ${config.data.train} have`, origin.fingerprint, now.fingerprint);
  require(`The examples of ${config.algorithm}.data have`, origin.examples, now.examples);
  require(`The model in ${config.model.path ?? policyFolder} has`, origin.model, now.model);
  require(`The adapter in ${config.model.lora_adapter_path} has`, origin.adapter, now.adapter);
  session.store.updateRun(session.run_id, { config: { ...config, origin: { ...origin, ...now } } });
}
