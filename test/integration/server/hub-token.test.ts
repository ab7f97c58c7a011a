import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { HubServer } from '../../fixtures/hub-server.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { letterTasks, makeWorkspace, nodeAgent, type Workspace } from '../runs/workspace.ts';
import { Client } from './client.ts';

const token = 'hf_verySecretToken';
const dryRun = { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', policy: 'hf:owner/name' } as const;

describe('the token for the Hugging Face hub', () => {
  let workspace: Workspace;
  let hub: HubServer;
  let trainer: Trainer;
  let client: Client;
  let kept: Record<string, string | undefined>;

  beforeEach(async () => {
    workspace = makeWorkspace({ 'agent.ts': nodeAgent, 'tasks.jsonl': letterTasks(2) });
    const origin = path.join(workspace.folder, 'origin');
    await makeTinyPolicy(origin);
    hub = new HubServer(readdirSync(origin).map((name) => [name, readFileSync(path.join(origin, name))]));
    await hub.start();
    hub.token = token;
    const variables = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: path.join(workspace.folder, 'cache'), HF_HOME: workspace.folder, HF_TOKEN: '' };
    kept = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
    Object.assign(process.env, variables);
    trainer = await openTrainer({ workspace: workspace.folder });
    client = await Client.connect(trainer);
  });
  afterEach(async () => {
    await trainer.close();
    hub.stop();
    for (const [name, value] of Object.entries(kept)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    workspace.remove();
  });

  const dry = async () => trainer.runs.wait((await client.call('runs.start', dryRun)).run_id);

  it('comes from a client, stays in memory, and is taken instead of that of the environment', async () => {
    const without = await dry();
    assert.deepEqual([without.status, without.error_code], ['failed', 'hub_access']);
    assert.match(without.error!, /owner\/name \(401\).*https:\/\/huggingface\.co\/owner\/name.*HF_TOKEN.*"Agent Trainer: Set Hugging Face Token…"/);
    process.env['HF_TOKEN'] = 'hf_other';
    assert.match((await dry()).error!, /The token may not read it: accept its terms/);
    await client.call('hub.set_token', { token });
    const run = await dry();
    assert.equal(run.status, 'succeeded', run.error ?? '');
    assert.equal(run.error_code ?? null, null);
    assert.deepEqual(hub.leaked, [], 'the host of the contents does not see it');
    await trainer.close();
    for (const file of readdirSync(workspace.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
      assert.ok(!readFileSync(path.join(file.parentPath, file.name)).includes(token), `${file.name} holds the token`);
    }
  });

  it('is forgotten when it is null', async () => {
    await client.call('hub.set_token', { token });
    await client.call('hub.set_token', { token: null });
    assert.equal((await dry()).error_code, 'hub_access');
  });

  it('is refused without being shown when it is none', async () => {
    const wrong = 'hf_very secret';
    await assert.rejects(client.call('hub.set_token', { token: wrong }), (error: Error) => /must be a token/.test(error.message) && !error.message.includes('secret'));
    process.env['HF_TOKEN'] = wrong;
    const { error } = await dry();
    assert.match(error!, /token holds spaces or other characters/);
    assert.ok(!error!.includes('secret'));
  });
});
