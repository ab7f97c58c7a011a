import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../../src/log.ts';
import { findNode } from '../../../src/trainer/find-node.ts';
import { findRunningTrainer, readServerFile } from '../../../src/trainer/handshake.ts';
import { RpcClient } from '../../../src/trainer/rpc-client.ts';
import { spawnTrainer } from '../../../src/trainer/spawn-trainer.ts';
import { crashesInARow, Supervisor } from '../../../src/trainer/supervisor.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { aRun, aStep } from '../../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../../fixtures/replay-trainer.ts';
import { until } from '../../vscode/poll.ts';

let folder = '';
/** A folder of its own for each test. */
const inFolder = (): void => {
  beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'agent-trainer-connection-')); });
  afterEach(() => { rmSync(folder, { recursive: true, force: true }); });
};

const node = { path: process.execPath, version: process.version, environment: {} };

describe('the connection to a trainer', () => {
  inFolder();
  let trainer: ReplayTrainer;
  beforeEach(async () => { trainer = await ReplayTrainer.start(folder); });
  afterEach(() => trainer.close());
  const connect = async (): Promise<RpcClient> => RpcClient.connect(await findRunningTrainer(folder) ?? assert.fail('none found'));

  it('asks and is answered, and hears what it subscribed to', async () => {
    const client = await connect();
    const events: string[] = [];
    client.onEvent = (event) => { events.push(event.type); };
    await client.call('events.subscribe', { types: ['run'] });
    trainer.emit({ type: 'run', run: aRun('train') });
    trainer.emit({ type: 'step', run_id: aRun('train').run_id, metrics: aStep(0) });
    const { run, steps } = await client.call('runs.get', { run_id: aRun('train').run_id });
    assert.deepEqual([run.kind, steps.length, events], ['train', 1, ['run']]);
    client.close();
  });

  it("passes the trainer's refusal on with its code and sentence", async () => {
    const client = await connect();
    await assert.rejects(client.call('runs.get', { run_id: 'ru-none' }), (error) => error instanceof TrainerError && error.code === 'bad_input' && error.message === 'There is no such run.');
    client.close();
  });

  it('rejects what is pending when the trainer goes away, and every call after', async () => {
    const client = await connect();
    const closed = new Promise<void>((resolve) => { client.onClose = resolve; });
    trainer.onStart = () => {
      void trainer.close();
      return aRun('dev');
    };
    await assert.rejects(Promise.all([client.call('runs.start', { kind: 'dev' }), client.call('runs.list', {})]), /connection to the trainer was lost/);
    await closed;
    await assert.rejects(client.call('runs.list', {}), /connection to the trainer was lost/);
  });

  it('is refused with another token', async () => {
    const server = await readServerFile(join(folder, '.agent-trainer', 'server.json')) ?? assert.fail('no file');
    await assert.rejects(RpcClient.connect({ url: server.url, token: 'wrong' }), /does not answer/);
  });

  it('is not looked for where a dead trainer left its file', async () => {
    const server = await readServerFile(join(folder, '.agent-trainer', 'server.json')) ?? assert.fail('no file');
    await trainer.close();
    writeFileSync(join(folder, '.agent-trainer', 'server.json'), JSON.stringify(server));
    assert.equal(await findRunningTrainer(folder), null);
  });

  it('joins a trainer that runs already, and lets it go without a toast when it ends', async () => {
    const heard: string[] = [];
    const log = { info: (line: string) => heard.push(line), background: (what: string) => heard.push(what), toast: () => assert.fail('a toast') } as unknown as Log;
    const supervisor = new Supervisor({
      folder, cli: 'none', findNode: () => assert.fail('no trainer is to be started'), log,
      prepare: async () => { heard.push('prepared'); }, onLost: () => heard.push('lost'),
    });
    assert.equal(await supervisor.attach(), true);
    assert.equal(supervisor.state.kind, 'ready');
    await trainer.close();
    await until(() => heard.includes('lost'));
    assert.equal(supervisor.state.kind, 'stopped');
    assert.equal(await supervisor.attach(), false);
  });
});

describe('starting a trainer', () => {
  inFolder();
  const start = (program: string): Promise<unknown> => {
    const cli = join(folder, 'cli.mjs');
    writeFileSync(cli, program);
    return spawnTrainer({ node, cli, folder, log: () => {} });
  };

  it('tells what a trainer said that ended before it was ready', async () => {
    await assert.rejects(start("console.error('the port is taken'); process.exit(3);"), /ended with code 3 before it was ready. It said: the port is taken/);
  });

  it('does not take any first line for a handshake, and leaves no process behind', async () => {
    const mark = join(folder, 'alive');
    const program = `import { writeFileSync } from 'node:fs'; process.once('SIGTERM', () => { writeFileSync(${JSON.stringify(mark)}, ''); process.exit(); }); console.log('hello'); setInterval(() => {}, 1000);`;
    await assert.rejects(start(program), /did not say where it listens, but: hello/);
    await until(() => existsSync(mark));
  });

  it('says so when there is no such program', async () => {
    await assert.rejects(spawnTrainer({ node: { ...node, path: join(folder, 'no-node') }, cli: 'x', folder, log: () => {} }), /could not be started: .*ENOENT/);
  });
});

describe('finding a Node', () => {
  inFolder();
  it('takes the one of the setting', async () => {
    assert.equal((await findNode(process.execPath, () => {})).version, process.version);
  });

  it('refuses a setting that names none, and says which', async () => {
    const wrong = join(folder, 'not-node');
    writeFileSync(wrong, '#!/bin/sh\necho v18.0.0\n', { mode: 0o755 });
    await assert.rejects(findNode(wrong, () => {}), (error) => error instanceof TrainerError && error.code === 'environment' && error.message.includes(wrong));
  });

  it('without one on the PATH uses the one it runs in, made to act as Node', async () => {
    const { PATH, SHELL } = process.env;
    process.env['PATH'] = folder;
    delete process.env['SHELL'];
    try {
      assert.deepEqual(await findNode('', () => {}), { path: process.execPath, version: process.version, environment: { ELECTRON_RUN_AS_NODE: '1' } });
    } finally {
      Object.assign(process.env, { PATH, ...(SHELL === undefined ? {} : { SHELL }) });
    }
  });
});

describe('crashes of the trainer', () => {
  it('are in a row until one had lived for ten minutes', () => {
    const quick = [1, 2, 3].reduce((crashes) => crashesInARow(crashes, 1000), 0);
    assert.equal(quick, 3);
    assert.equal(crashesInARow(quick, 9 * 60_000), 4);
    assert.equal(crashesInARow(quick, 10 * 60_000), 1);
  });
});
