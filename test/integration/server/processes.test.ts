import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTrainer } from '../../../trainer/server/trainer.ts';
import { openStore } from '../../../trainer/store/store.ts';
import { startOpenAIServer } from '../../fixtures/openai-server.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { letterTasks, makeWorkspace, nodeAgent } from '../runs/workspace.ts';
import type { Workspace } from '../runs/workspace.ts';
import { Client } from './client.ts';
import { idleProcess, startDaemon } from './daemon.ts';

/** Looks until it holds; mocha's timeout is the deadline. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(50);
}

describe('trainers as processes', function () {
  this.timeout(120_000); // each starts programs, on a machine that may be busy

  let workspace: Workspace;
  const closing: (() => unknown)[] = [];

  beforeEach(() => { workspace = makeWorkspace({ 'agent.ts': nodeAgent, 'tasks.jsonl': letterTasks(4) }); });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    workspace.remove();
  });

  const announced = async ({ folder }: Workspace) => {
    const trainer = await openTrainer({ workspace: folder, announce: true });
    if (trainer.tokenFile === null) throw new Error('not announced');
    return { ...trainer, tokenFile: trainer.tokenFile };
  };
  const daemon = async (options: string[] = []) => {
    const started = await startDaemon(workspace.folder, options);
    closing.push(() => started.process.kill('SIGKILL'), () => started.ended);
    return started;
  };
  /** A dry run in `at` that waits for its model until it is cancelled. */
  const startEndlessRun = async (client: Client): Promise<string> => {
    let asked = (): void => undefined;
    const waiting = new Promise<void>((resolve) => { asked = resolve; });
    const model = await startOpenAIServer(() => asked());
    closing.push(() => model.close());
    const { run_id } = await client.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', limit: 1, policy: model.url });
    await waiting;
    return run_id;
  };

  it('a second trainer leaves the first one\'s file and runs alone; after kill -9 the next one takes over', async () => {
    const first = await daemon();
    const client = await Client.connect(first);
    const run_id = await startEndlessRun(client);

    const second = await announced(workspace);
    assert.equal(second.tokenFile, path.join(workspace.folder, '.agent-trainer', `server-${process.pid}.json`));
    assert.equal(second.store.getRun(run_id)?.status, 'running');
    await assert.rejects(second.runs.cancel(run_id), /belongs to another trainer/);
    await second.close();
    assert.equal((await client.call('runs.get', { run_id })).run.status, 'running');
    assert.equal((JSON.parse(readFileSync(first.tokenFile, 'utf8')) as { token: string }).token, first.token);

    first.process.kill('SIGKILL');
    await first.ended;
    assert.ok(existsSync(first.tokenFile));
    const third = await announced(workspace);
    assert.equal(third.tokenFile, first.tokenFile);
    assert.equal(third.store.getRun(run_id)?.status, 'interrupted');
    await third.close();
    assert.ok(!existsSync(first.tokenFile));
  });

  it('a file of nonsense, and one that names another program\'s port, are replaced', async () => {
    const other = await startOpenAIServer();
    closing.push(() => other.close());
    const file = path.join(workspace.folder, '.agent-trainer', 'server.json');
    const before = await announced(workspace);
    await before.close();
    for (const left of ['{"half', JSON.stringify({ url: 'http://127.0.0.1:9', token: 't', gateway_key: 'k', pid: 1 })]) {
      writeFileSync(file, left);
      const trainer = await announced(workspace);
      assert.equal(trainer.tokenFile, file);
      await trainer.close();
    }
    const alive = await announced(workspace);
    closing.push(() => alive.close());
    const stale = makeWorkspace();
    closing.push(() => stale.remove());
    const elsewhere = await announced(stale);
    await elsewhere.close();
    writeFileSync(elsewhere.tokenFile, JSON.stringify({ url: alive.url, token: 'of a dead one', gateway_key: 'k', pid: 1 }));
    const trainer = await announced(stale);
    assert.equal(trainer.tokenFile, elsewhere.tokenFile);
    await trainer.close();
  });

  it('a port in use is an error that says so', async () => {
    const first = await announced(workspace);
    closing.push(() => first.close());
    await assert.rejects(openTrainer({ workspace: workspace.folder, port: Number(new URL(first.url).port) }), /cannot listen on port \d+: .*EADDRINUSE/);
  });

  it('a daemon goes with its parent', async () => {
    const parent = idleProcess();
    const served = await daemon(['--parent-pid', String(parent.pid)]);
    parent.kill('SIGKILL');
    assert.deepEqual(await served.ended, [0, null]);
    assert.ok(!existsSync(served.tokenFile));
  });

  it('a daemon whose parent has gone stays while another window is connected', async () => {
    const parent = idleProcess();
    const served = await daemon(['--parent-pid', String(parent.pid)]);
    const client = await Client.connect(served);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const run_id = await startEndlessRun(client);
    assert.equal((await client.call('runs.cancel', { run_id })).status, 'cancelled');
    await client.close();
    assert.deepEqual(await served.ended, [0, null]);
  });

  it('a training run goes on without its window, and can be found again and cancelled; then the daemon ends', async () => {
    await makeTinyPolicy(path.join(workspace.folder, 'policy'));
    workspace.write('agent-trainer.json', {
      agent: 'agent.ts', model: { path: 'policy' }, data: { train: 'tasks.jsonl', validation_share: 0.5 }, threads: 1, runner: { n_runners: 2 },
      grpo: { steps: 100_000, train_batch_size: 1, group_size: 2, agent_match: 'answer' },
    });
    const parent = idleProcess();
    const served = await daemon(['--parent-pid', String(parent.pid)]);
    const window = await Client.connect(served);
    const { run_id } = await window.call('runs.start', { kind: 'train', config_path: 'agent-trainer.json' });
    await window.close();
    parent.kill('SIGKILL');
    await once(parent, 'exit');

    const store = openStore(path.join(workspace.folder, '.agent-trainer', 'trainer.db'));
    closing.push(() => store.close());
    const noticedByNow = Date.now() + 2500; // the daemon looks for its parent once a second
    await until(() => Date.now() > noticedByNow);
    const steps = store.listSteps(run_id).length;
    await until(() => store.listSteps(run_id).length > steps);

    const nextWindow = await Client.connect(served);
    assert.equal((await nextWindow.call('runs.cancel', { run_id })).status, 'cancelled');
    await nextWindow.close();
    assert.deepEqual(await served.ended, [0, null]);
  });

  it('SIGTERM ends its runs and says goodbye to its clients', async () => {
    const served = await daemon();
    const client = await Client.connect(served);
    const run_id = await startEndlessRun(client);
    const closed = once(client.socket, 'close');
    served.process.kill('SIGTERM');
    assert.equal((await closed)[0], 1001);
    assert.deepEqual(await served.ended, [0, null]);
    const next = await announced(workspace);
    closing.push(() => next.close());
    assert.equal(next.store.getRun(run_id)?.status, 'cancelled');
  });
});
