import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { StartRun } from '../../../trainer/protocol/rpc.ts';
import { TrainResult, type Run } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { HubServer } from '../../fixtures/hub-server.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { letterTasks, makeWorkspace, nodeAgent, type Workspace } from './workspace.ts';

const small = {
  agent: 'agent.ts', model: { path: 'hf:owner/name' }, seed: 5, threads: 1,
  data: { train: 'train.jsonl', validation: 'heldout.jsonl' }, runner: { n_runners: 2 },
  grpo: { steps: 1, train_batch_size: 2, group_size: 2 },
};
const question = { role: 'user', content: 'abc' };

describe('runs of a model of the Hugging Face hub', function () {
  this.timeout(240_000);
  let workspace: Workspace;
  let hub: HubServer;
  let trainer: Trainer;
  let kept: Record<string, string | undefined>;

  before(async () => {
    workspace = makeWorkspace({
      'agent.ts': nodeAgent, 'train.jsonl': letterTasks(4), 'heldout.jsonl': letterTasks(2, 100), 'grpo.json': small,
      'lora.json': { ...small, model: { ...small.model, lora_rank: 2 } },
      'sft.json': { ...small, algorithm: 'sft', sft: { data: 'conversations.jsonl', steps: 1 } }, 'conversations.jsonl': [{ messages: [question, { role: 'assistant', content: 'a' }] }],
      'dpo.json': { ...small, algorithm: 'dpo', dpo: { data: 'pairs.jsonl', steps: 1 } }, 'pairs.jsonl': [{ prompt: [question], chosen: [{ role: 'assistant', content: 'a' }], rejected: [{ role: 'assistant', content: 'b' }] }],
    });
    const origin = path.join(workspace.folder, 'origin');
    await makeTinyPolicy(origin);
    hub = new HubServer(readdirSync(origin).map((name) => [name, readFileSync(path.join(origin, name))]));
    await hub.start();
    const variables = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: path.join(workspace.folder, 'hub'), HF_TOKEN: '' };
    kept = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
    Object.assign(process.env, variables);
    trainer = await openTrainer({ workspace: workspace.folder });
  });
  after(async () => {
    await trainer.close();
    for (const [name, value] of Object.entries(kept)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    hub.stop();
    workspace.remove();
  });

  const succeed = async (request: StartRun): Promise<Run> => {
    const run = await trainer.runs.wait(trainer.runs.start(request).run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    return run;
  };

  for (const config_path of ['grpo.json', 'lora.json', 'sft.json', 'dpo.json']) {
    it(`are trained by ${config_path}`, async () => {
      const notices: string[] = [];
      const unsubscribe = trainer.store.onEvent((event) => { if (event.type === 'notice') notices.push(event.message); });
      const { checkpoint } = TrainResult.parse((await succeed({ kind: 'train', config_path })).result);
      unsubscribe();
      assert.ok(existsSync(path.join(checkpoint, 'model.safetensors')));
      assert.ok(notices.some((message) => message.startsWith('Training needs about ')), notices.join());
    });
  }

  it('are run and evaluated', async () => {
    await succeed({ kind: 'dev', agent: 'agent.ts', data: 'train.jsonl', policy: 'hf:owner/name', limit: 1 });
    await succeed({ kind: 'eval', agent: 'agent.ts', data: 'train.jsonl', policy: 'hf:owner/name', against: 'origin', limit: 1 });
  });

  it('a run says by what steps and learning rate it learns, defaults included', async () => {
    const notices: string[] = [];
    const unsubscribe = trainer.store.onEvent((event) => { if (event.type === 'notice') notices.push(event.message); });
    for (const config_path of ['grpo.json', 'lora.json', 'dpo.json']) await succeed({ kind: 'train', config_path });
    unsubscribe();
    assert.deepEqual(notices.filter((message) => /learning rate/.test(message)), [
      '1 step of 2 tasks × 2 rollouts, learning rate 0.000001.', '1 step of 2 tasks × 2 rollouts, learning rate 0.00001.', '1 step of 1 pair, learning rate 0.000001.',
    ]);
  });
});
