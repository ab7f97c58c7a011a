import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { TrainResult } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { letterTasks, makeWorkspace, nodeAgent, type Workspace } from './workspace.ts';

const config = { agent: 'agent.ts', model: { path: 'policy' }, seed: 5, threads: 1, data: { train: 'train.jsonl', validation: 'heldout.jsonl' }, runner: { n_runners: 4 } };
const tasks = (count: number, from = 0) => letterTasks(count, from).map((task) => ({ ...task, letters: 'e' }));
const ask = (i: number) => [{ role: 'user', content: `Say ${i}` }];
const answer = (content: string) => [{ role: 'assistant', content }];
const optimizer = { lr: 5e-3, lr_schedule: 'constant', train_batch_size: 4 };

describe('training on examples', function () {
  this.timeout(240_000);

  let made: Workspace;
  let trainer: Trainer;
  beforeEach(async () => {
    made = makeWorkspace({
      'agent.ts': nodeAgent, 'train.jsonl': tasks(8), 'heldout.jsonl': tasks(6, 100),
      'talk.jsonl': Array.from({ length: 8 }, (_, i) => ({ prompt: ask(i), completion: answer('eeee') })),
      'pairs.jsonl': Array.from({ length: 8 }, (_, i) => ({ prompt: ask(i), chosen: answer('eeee'), rejected: answer('1212') })),
    });
    await makeTinyPolicy(path.join(made.folder, 'policy'));
    trainer = await openTrainer({ workspace: made.folder });
  });
  afterEach(async () => {
    await trainer.close();
    made.remove();
  });

  const start = (settings: object) => {
    made.write('agent-trainer.json', { ...config, ...settings });
    return trainer.runs.start({ kind: 'train', config_path: 'agent-trainer.json' }).run_id;
  };
  const finish = async (run_id: string) => {
    const run = await trainer.runs.wait(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    return { run_id, steps: trainer.store.listSteps(run_id), result: TrainResult.parse(run.result) };
  };
  const weights = (folder: string) => readFileSync(path.join(folder, 'model.safetensors'));

  it('learns to answer as in the conversations of a file, and again from its own good rollouts', async () => {
    const { steps, result, run_id } = await finish(start({ algorithm: 'sft', sft: { data: 'talk.jsonl', steps: 40, ...optimizer } }));
    assert.equal(steps.length, 40);
    assert.ok(steps.at(-1)!.loss! < steps[0]!.loss! * 0.3, JSON.stringify(steps.map(({ loss }) => loss)));
    assert.ok(steps.every(({ reward_mean, funnel, updated, trained_tokens }) => reward_mean === null && funnel.rollouts === 0 && updated && trained_tokens === steps[0]!.trained_tokens));
    assert.equal(result.steps, 40);
    assert.ok(result.after.mean_reward! > result.before.mean_reward! + 0.3, JSON.stringify(result));
    assert.equal(trainer.store.listRollouts({ run_id }).length, 12, 'rollouts are made to evaluate alone');

    const evaluation = await trainer.runs.wait(trainer.runs.start({ kind: 'eval', agent: 'agent.ts', data: 'train.jsonl', policy: result.checkpoint }).run_id);
    const again = await finish(start({ algorithm: 'sft', sft: { data: { runs: [evaluation.run_id], min_reward: 0.9 }, steps: 40, ...optimizer } }));
    assert.ok(again.result.after.mean_reward! > again.result.before.mean_reward! + 0.3, JSON.stringify(again.result));
    const onValidation = trainer.runs.start({ kind: 'eval', agent: 'agent.ts', data: 'heldout.jsonl', policy: result.checkpoint }).run_id;
    await trainer.runs.wait(onValidation);
    const leaking = await trainer.runs.wait(start({ algorithm: 'sft', sft: { data: { runs: [onValidation], min_reward: 0 } } }));
    assert.match(leaking.error ?? '', /There are no conversations to learn from/);
  });

  it('learns what is preferred; cancelled and resumed it ends where it would have ended', async () => {
    const settings = { algorithm: 'dpo', dpo: { data: 'pairs.jsonl', steps: 12, beta: 0.5, ...optimizer } };
    const whole = await finish(start(settings));
    assert.ok(Math.abs(whole.steps[0]!.loss! - Math.log(2)) < 1e-5, 'the policy begins as the reference');
    assert.ok(whole.steps.at(-1)!.loss! < 0.3, JSON.stringify(whole.steps.map(({ loss }) => loss)));
    assert.equal(whole.steps.at(-1)!.reward_accuracy, 1);
    assert.ok(whole.steps.at(-1)!.reward_margin! > 1);

    const reached = new Promise<void>((resolve) => { trainer.store.onEvent((event) => { if (event.type === 'step' && event.metrics.step === 4) resolve(); }); });
    const run_id = start(settings);
    await reached;
    assert.equal((await trainer.runs.cancel(run_id)).status, 'cancelled');
    trainer.runs.start({ kind: 'train', resume: run_id });
    const resumed = await finish(run_id);
    assert.deepEqual(resumed.steps.map(({ loss, step }) => ({ loss, step })), whole.steps.map(({ loss, step }) => ({ loss, step })));
    assert.deepEqual(weights(resumed.result.checkpoint), weights(whole.result.checkpoint));
  });
});
