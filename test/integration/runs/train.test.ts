import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { StartRun } from '../../../trainer/protocol/rpc.ts';
import { TrainResult, type Run, type StepMetrics } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { letterTasks, makeWorkspace, nodeAgent, type Workspace } from './workspace.ts';

const config = {
  agent: 'agent.ts', model: { path: 'policy' }, seed: 5, threads: 1,
  data: { train: 'train.jsonl', validation: 'heldout.jsonl' },
  grpo: { steps: 4, train_batch_size: 4, group_size: 4, lr: 3e-3, agent_match: 'answer' },
  runner: { n_runners: 4 },
};

/** What must repeat: everything but wall times and ids. */
function curve(steps: StepMetrics[]): unknown[] {
  return steps.map(({ rollouts_per_s, tokens_per_s, rollout_s, train_s, eta_s, funnel, ...rest }) => {
    assert.ok(rollouts_per_s > 0 && tokens_per_s > 0 && rollout_s > 0 && train_s > 0 && eta_s !== null);
    return { ...rest, funnel: { ...funnel, losses: funnel.losses.map(({ stage, reason, count }) => ({ stage, reason, count })) } };
  });
}

function outcome(run: Run): unknown {
  const { before, after, difference, steps, checkpoint_step } = TrainResult.parse(run.result);
  return { before, after, difference, steps, checkpoint_step };
}

describe('training runs', function () {
  this.timeout(240_000); // whole runs, several of them in some tests

  const workspaces: Workspace[] = [];
  const trainers: Trainer[] = [];

  afterEach(async () => {
    await Promise.all(trainers.splice(0).map((trainer) => trainer.close()));
    for (const workspace of workspaces.splice(0)) workspace.remove();
  });

  const workspace = async (overrides: object = {}) => {
    const made = makeWorkspace({ 'agent.ts': nodeAgent, 'train.jsonl': letterTasks(8), 'heldout.jsonl': letterTasks(6, 100), 'agent-trainer.json': { ...config, ...overrides } });
    workspaces.push(made);
    await makeTinyPolicy(path.join(made.folder, 'policy'));
    return made;
  };
  const open = async ({ folder }: Workspace) => {
    const trainer = await openTrainer({ workspace: folder });
    trainers.push(trainer);
    return trainer;
  };
  const train = async (trainer: Trainer, request: Partial<StartRun> = {}) => {
    const run = await trainer.runs.wait(trainer.runs.start({ kind: 'train', ...(request.resume === undefined ? { config_path: 'agent-trainer.json' } : {}), ...request }).run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    return run;
  };
  const weights = (folder: string) => readFileSync(path.join(folder, 'model.safetensors'));

  it('checks, evaluates, trains, evaluates; trainer and sampler agree; the result can be evaluated', async () => {
    const made = await workspace();
    const trainer = await open(made);
    const phases: string[] = [];
    const notices: string[] = [];
    trainer.store.onEvent((event) => {
      if (event.type === 'run' && event.run.phase !== phases.at(-1)) phases.push(event.run.phase);
      if (event.type === 'notice') notices.push(event.message);
    });
    const run = await train(trainer);
    assert.deepEqual(phases, ['starting', 'self-check', 'evaluating-before', 'training', 'evaluating-after', 'done']);
    for (const expected of [/ runs on CPU \(/, /^Training needs about /, /^Self-check: 1 LLM call by answer, 1 trainable/]) assert.ok(notices.some((message) => expected.test(message)), notices.join('\n'));
    const steps = trainer.store.listSteps(run.run_id);
    assert.deepEqual(steps.map((step) => step.policy_version), [1, 2, 3, 4]);
    for (const step of steps) {
      assert.ok(step.updated && step.logprob_max_diff! < 1e-4 && step.ratio_deviation! < 1e-4, JSON.stringify(step));
      assert.deepEqual([step.funnel.rollouts, step.funnel.calls, step.funnel.trainable], [16, 16, 16]);
      assert.ok(step.grad_norm! > 0);
    }
    const result = TrainResult.parse(run.result);
    assert.equal(result.before.n, 6);
    assert.equal(result.after.n, 6);
    assert.ok(result.difference);
    assert.deepEqual(readdirSync(path.join(made.folder, '.agent-trainer', 'runs', run.run_id, 'checkpoints')).sort(), ['step-000002', 'step-000003']);
    assert.notDeepEqual(weights(result.checkpoint), weights(path.join(made.folder, 'policy')));

    const evaluation = await trainer.runs.wait(trainer.runs.start({ kind: 'eval', agent: 'agent.ts', data: 'heldout.jsonl', policy: result.checkpoint, against: 'policy' }).run_id);
    const { policy, against, difference } = evaluation.result as { policy: unknown; against: unknown; difference: unknown };
    assert.deepEqual({ before: against, after: policy, difference }, { before: result.before, after: result.after, difference: result.difference });
  });

  it('repeats with its seed; another seed is another run', async () => {
    const made = await workspace({ grpo: { ...config.grpo, steps: 2 } });
    const trainer = await open(made);
    const [first, second, other] = [await train(trainer), await train(trainer), await train(trainer, { seed: 6 })];
    assert.deepEqual(curve(trainer.store.listSteps(second.run_id)), curve(trainer.store.listSteps(first.run_id)));
    assert.deepEqual(outcome(second), outcome(first));
    assert.notDeepEqual(curve(trainer.store.listSteps(other.run_id)), curve(trainer.store.listSteps(first.run_id)));
  });

  it('trains low-rank factors: checkpoints hold them alone, a resumed run ends as an uninterrupted one, the result is a model with the adapter beside it', async () => {
    const made = await workspace({ model: { path: 'policy', lora_rank: 4, target_modules: ['q_proj', 'v_proj', 'down_proj'] }, grpo: { ...config.grpo, lr: 1e-2, kl_loss_coef: 0.05 } });
    const trainer = await open(made);
    const notices: string[] = [];
    trainer.store.onEvent((event) => { if (event.type === 'notice') notices.push(event.message); });
    const whole = await train(trainer);
    assert.ok(notices.some((message) => /^LoRA of rank 4 on q_proj, v_proj, down_proj: \d,\d{3} parameters are trained/.test(message)), notices.join());
    const steps = trainer.store.listSteps(whole.run_id);
    for (const step of steps) assert.ok(step.updated && step.logprob_max_diff! < 1e-4 && step.grad_norm! > 0, JSON.stringify(step));
    assert.ok(Math.abs(steps[0]!.kl!) < 1e-6 && steps.at(-1)!.kl! > 0);

    let interrupted: string | null = null;
    const reached = new Promise<void>((resolve) => { trainer.store.onEvent((event) => { if (event.type === 'step' && event.run_id === interrupted && event.metrics.step === 1) resolve(); }); });
    interrupted = trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' }).run_id;
    await reached;
    await trainer.runs.cancel(interrupted);
    const checkpoints = path.join(made.folder, '.agent-trainer', 'runs', interrupted, 'checkpoints');
    for (const name of readdirSync(checkpoints)) assert.deepEqual(readdirSync(path.join(checkpoints, name)).filter((file) => file.endsWith('.safetensors')), ['adapter_model.safetensors', 'optimizer.safetensors']);
    const sampled = await trainer.runs.wait(trainer.runs.start({ kind: 'eval', agent: 'agent.ts', data: 'heldout.jsonl', policy: path.join(checkpoints, readdirSync(checkpoints)[0]!) }).run_id);
    assert.equal(sampled.status, 'succeeded', sampled.error ?? '');
    const resumed = await train(trainer, { resume: interrupted });
    assert.deepEqual(curve(trainer.store.listSteps(resumed.run_id)), curve(steps));

    const [a, b] = [TrainResult.parse(whole.result), TrainResult.parse(resumed.result)];
    assert.deepEqual(weights(b.checkpoint), weights(a.checkpoint));
    assert.notDeepEqual(weights(a.checkpoint), weights(path.join(made.folder, 'policy')));
    assert.deepEqual(readdirSync(path.join(a.checkpoint, 'adapter')), ['adapter_config.json', 'adapter_model.safetensors']);

    // Another run goes on from that adapter, beside the model it names.
    const further = await workspace({ model: { lora_adapter_path: path.join(a.checkpoint, 'adapter') }, grpo: { ...config.grpo, steps: 1, lr: 1e-2, kl_loss_coef: 0.05 } });
    const second = await open(further);
    second.store.onEvent((event) => { if (event.type === 'notice') notices.push(event.message); });
    const evaluated = await second.runs.wait(second.runs.start({ kind: 'dev', config_path: 'agent-trainer.json', limit: 2 }).run_id);
    assert.equal(evaluated.status, 'succeeded', evaluated.error ?? '');
    const continued = await train(second);
    assert.ok(notices.some((message) => message.startsWith(`LoRA, going on from the adapter in ${a.checkpoint}`)), notices.join());
    assert.deepEqual(TrainResult.parse(continued.result).before, a.after);
    const [step] = second.store.listSteps(continued.run_id);
    assert.ok(step!.logprob_max_diff! < 1e-4 && Math.abs(step!.kl!) < 1e-6, JSON.stringify(step));
    const settingsOf = (run: string) => { const { base_model_name_or_path: base, ...rest } = JSON.parse(readFileSync(path.join(run, 'adapter', 'adapter_config.json'), 'utf8')) as Record<string, unknown>; return { base, rest }; };
    assert.deepEqual(settingsOf(TrainResult.parse(continued.result).checkpoint), settingsOf(a.checkpoint));
  });

  const killed: Record<string, object> = {
    'with a reference model': { grpo: { ...config.grpo, kl_loss_coef: 0.05 } },
    'when the best of its checkpoints is kept': { grpo: { ...config.grpo, test_freq: 1 }, checkpoints: { keep_last: 1, load_best_model_at_end: true } },
  };
  for (const [when, overrides] of Object.entries(killed)) it(`killed with -9 in mid-training and resumed, it ends as if nothing had happened, ${when}`, async () => {
    const whole = await workspace(overrides);
    const trainer = await open(whole);
    const expected = await train(trainer);
    const checkpoints = trainer.runs.checkpoints(expected.run_id).map(({ folder, ...rest }) => ({ ...rest, weights: weights(folder) }));

    const made = await workspace(overrides);
    const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('training-process.ts', import.meta.url)), made.folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    let run_id = '';
    for await (const line of createInterface({ input: child.stdout })) {
      run_id ||= /^run (\S+)/.exec(line)?.[1] ?? '';
      assert.ok(!line.startsWith('ended'), line);
      if (line === 'step 1') child.kill('SIGKILL'); // recorded, but its checkpoint may be missing
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    assert.equal(child.signalCode, 'SIGKILL');

    const next = await open(made);
    assert.equal(next.store.getRun(run_id)?.status, 'interrupted');
    const evaluated = () => next.store.listRollouts({ run_id, mode: 'val' }).filter(({ step }) => step === null).length;
    const before = evaluated();
    const resumed = await train(next, { resume: run_id });
    assert.deepEqual(curve(next.store.listSteps(run_id)), curve(trainer.store.listSteps(expected.run_id)));
    assert.deepEqual(outcome(resumed), outcome(expected));
    assert.deepEqual(weights(TrainResult.parse(resumed.result).checkpoint), weights(TrainResult.parse(expected.result).checkpoint));
    assert.deepEqual(next.runs.checkpoints(run_id).map(({ folder, ...rest }) => ({ ...rest, weights: weights(folder) })), checkpoints);
    assert.equal(evaluated() - before, 6, 'the evaluation before is not repeated');
    assert.throws(() => next.runs.start({ kind: 'train', resume: run_id }), (error) => error instanceof TrainerError && error.code === 'conflict');
  });

  it('with ema_decay the trained model is the average of the updates, also of a resumed run', async () => {
    const made = await workspace({ grpo: { ...config.grpo, lr: 0.05, ema_decay: 0.5 } });
    const trainer = await open(made);
    const whole = TrainResult.parse((await train(trainer)).result);
    const last = trainer.runs.checkpoints(whole.run_id).at(-1)!.folder;
    assert.notDeepEqual(weights(whole.checkpoint), weights(last));
    let interrupted: string | null = null;
    const reached = new Promise<void>((resolve) => { trainer.store.onEvent((event) => { if (event.type === 'step' && event.run_id === interrupted && event.metrics.step === 1) resolve(); }); });
    interrupted = trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' }).run_id;
    await reached;
    await trainer.runs.cancel(interrupted);
    assert.deepEqual(weights(TrainResult.parse((await train(trainer, { resume: interrupted })).result).checkpoint), weights(whole.checkpoint));
  });

  it('with load_best_model_at_end the trained model is that of the checkpoint that validated best', async () => {
    const made = await workspace({ grpo: { ...config.grpo, steps: 5, test_freq: 1, lr: 0.05 }, checkpoints: { keep_last: 1, load_best_model_at_end: true } });
    const trainer = await open(made);
    const run = await train(trainer);
    const { checkpoint, checkpoint_step, after } = TrainResult.parse(run.result);
    const kept = trainer.runs.checkpoints(run.run_id);
    const best = kept.find((each) => each.best)!;
    const validated = trainer.store.listSteps(run.run_id).map((step) => step.val_reward!);
    assert.equal(best.val_reward, Math.max(...validated));
    assert.equal(best.step, validated.indexOf(best.val_reward));
    assert.deepEqual([checkpoint_step, after.mean_reward], [best.step, best.val_reward]);
    assert.deepEqual(weights(checkpoint), weights(best.folder));
    assert.deepEqual(kept.map(({ step }) => step), [...new Set([best.step, 4])]);
  });

  it('cancelled, it keeps its checkpoint and can be resumed; a closed trainer leaves it interrupted', async () => {
    const made = await workspace({ grpo: { ...config.grpo, steps: 6, kl_loss_coef: 0.1 } });
    const trainer = await open(made);
    const untilStep = (step: number) => new Promise<void>((resolve) => {
      const stop = trainer.store.onEvent((event) => { if (event.type === 'step' && event.metrics.step >= step) { stop(); resolve(); } });
    });
    const { run_id } = trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' });
    assert.throws(() => trainer.runs.start({ kind: 'train', resume: run_id }), /still going/);
    await untilStep(1);
    assert.equal((await trainer.runs.cancel(run_id)).status, 'cancelled');
    trainer.runs.start({ kind: 'train', resume: run_id });
    await untilStep(3);
    assert.ok(trainer.runs.training);
    await trainer.runs.close();
    const closed = trainer.store.getRun(run_id);
    assert.equal(closed?.status, 'interrupted');
    assert.match(closed?.error ?? '', /train --resume/);

    made.write('train.jsonl', letterTasks(9));
    const next = await open(made);
    const changed = await next.runs.wait(next.runs.start({ kind: 'train', resume: run_id }).run_id);
    assert.match(changed.error ?? '', /train\.jsonl have changed/);
    made.write('train.jsonl', letterTasks(8));
    const modelFile = path.join(made.folder, 'policy', 'model.safetensors');
    const model = readFileSync(modelFile);
    writeFileSync(modelFile, model.map((byte, i) => (i === model.length - 1 ? byte ^ 1 : byte)));
    const otherModel = await next.runs.wait(next.runs.start({ kind: 'train', resume: run_id }).run_id);
    assert.match(otherModel.error ?? '', /The model in policy has changed/);
    writeFileSync(modelFile, model);
    const run = await train(next, { resume: run_id });
    assert.equal(next.store.listSteps(run_id).length, 6);
    assert.ok(next.store.listSteps(run_id).every((step) => step.kl !== null));
    assert.ok(existsSync(TrainResult.parse(run.result).checkpoint));
  });

  it('trains by each of the algorithms that are settings of grpo', async () => {
    const made = await workspace();
    const trainer = await open(made);
    const sampling = { max_tokens: 12 };
    const recipes: Record<string, { grpo: object; sampling?: object }> = {
      'Dr. GRPO': { grpo: { scale_rewards: 'none', loss_agg_mode: 'seq-mean-token-sum-norm' }, sampling },
      DAPO: { grpo: { filter_groups: { enable: true, max_num_gen_batches: 2 }, overlong_buffer: { len: 6 } }, sampling },
      RLOO: { grpo: { adv_estimator: 'rloo', kl_coef: 0.05 } },
      'REINFORCE++': { grpo: { adv_estimator: 'reinforce_plus_plus', group_size: 1, kl_coef: 0.01 } },
      'REINFORCE++ with a baseline': { grpo: { adv_estimator: 'reinforce_plus_plus_baseline' } },
      GSPO: { grpo: { importance_sampling_level: 'sequence', loss_agg_mode: 'seq-mean-token-mean', clip_ratio_low: 3e-4, clip_ratio_high: 4e-4, ppo_epochs: 2 } },
      PPO: { grpo: { ppo_epochs: 2, ppo_mini_batch_size: 2, entropy_coeff: 0.01 } },
      ahead: { grpo: { max_staleness: 1, rollout_is: 'token' } },
      credit: { grpo: { credit: { kind: 'discounted', gamma: 0.9 } } },
    };
    for (const [name, { grpo, ...rest }] of Object.entries(recipes)) {
      const run = await train(trainer, { overrides: { grpo: { steps: 2, ...grpo }, ...rest } });
      const steps = trainer.store.listSteps(run.run_id);
      assert.equal(steps.length, 2, name);
      for (const { updated, loss, kl, grad_norm, ratio_deviation, staleness } of steps) {
        assert.ok(updated && Number.isFinite(loss) && grad_norm! > 0, `${name}: ${JSON.stringify(steps)}`);
        assert.equal(kl !== null, 'kl_coef' in grpo, name);
        if (name === 'ahead') assert.ok(staleness! >= 0 && staleness! <= 1);
        else assert.ok(staleness === 0 && ratio_deviation! < 1e-4, name);
      }
    }
  });

  it('learns from rollouts sampled in int8, which show as such, and repeats and resumes as with float32', async () => {
    const settings = { ...config.grpo, steps: 12, lr: 1e-2, rollout_is: 'token' };
    const made = await workspace({ grpo: settings, sampling: { dtype: 'int8' } });
    const trainer = await open(made);
    const whole = await train(trainer);
    const steps = trainer.store.listSteps(whole.run_id);
    for (const step of steps) assert.ok(step.updated && step.logprob_max_diff! > 1e-4 && step.logprob_max_diff! < 0.3 && step.ratio_deviation! < 0.05, JSON.stringify(step));
    const half = (from: number) => steps.slice(from, from + 6).reduce((sum, { reward_mean }) => sum + reward_mean!, 0) / 6;
    assert.ok(half(6) > 2 * half(0), `reward ${steps.map(({ reward_mean }) => reward_mean).join(' ')}`);
    let interrupted: string | null = null;
    const reached = new Promise<void>((resolve) => { trainer.store.onEvent((event) => { if (event.type === 'step' && event.run_id === interrupted && event.metrics.step === 2) resolve(); }); });
    interrupted = trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' }).run_id;
    await reached;
    await trainer.runs.cancel(interrupted);
    const resumed = await train(trainer, { resume: interrupted });
    assert.deepEqual(curve(trainer.store.listSteps(resumed.run_id)), curve(steps));
    assert.deepEqual(weights(TrainResult.parse(resumed.result).checkpoint), weights(TrainResult.parse(whole.result).checkpoint));
  });

  it('stops before the training when the agent cannot be trained, and says why', async () => {
    const made = await workspace({ grpo: { ...config.grpo, agent_match: 'nobody' } });
    const trainer = await open(made);
    const run = await trainer.runs.wait(trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' }).run_id);
    assert.equal(run.status, 'failed');
    assert.match(run.error ?? '', /no LLM call that grpo.agent_match "nobody" selects. The agents seen: answer/);
    assert.throws(() => trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json', overrides: { model: { path: undefined, endpoint: 'http://127.0.0.1:1/v1' } } }), /model/);
  });
});
