import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { DebugLaunch } from '../../../trainer/protocol/endpoints.ts';
import { openTrainer } from '../../../trainer/server/trainer.ts';
import type { Trainer } from '../../../trainer/server/trainer.ts';
import { say, startOpenAIServer } from '../../fixtures/openai-server.ts';
import type { OpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace, nodeAgent, pythonAgent } from '../runs/workspace.ts';
import type { Workspace } from '../runs/workspace.ts';
import { Client } from '../server/client.ts';

/** Starts the worker as a debugger would. */
function start({ language, command, interpreter_args, program, cwd, env }: DebugLaunch) {
  const environment = { ...process.env };
  for (const [name, value] of Object.entries(env)) if (value === null) delete environment[name]; else environment[name] = value;
  return spawn(command, [...interpreter_args, ...(language === 'python' ? ['-m'] : []), program], { cwd, env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
}

describe('a rollout for a debugger', () => {
  let workspace: Workspace;
  let trainer: Trainer;
  let server: OpenAIServer;
  let client: Client;

  beforeEach(async () => {
    workspace = makeWorkspace({ 'agent.ts': nodeAgent, 'agent.py': pythonAgent, 'tasks.jsonl': letterTasks(3), 'broken.ts': 'import "./missing.ts";\n' });
    server = await startOpenAIServer(say('aa!!'));
    trainer = await openTrainer({ workspace: workspace.folder });
    client = await Client.connect(trainer);
  });
  afterEach(async () => {
    await client.close();
    await trainer.close();
    await server.close();
    workspace.remove();
  });
  const prepare = (agent: string, task = 0): Promise<DebugLaunch> => client.call('debug.prepare', { agent, data: 'tasks.jsonl', task, model: { kind: 'endpoint', url: server.url } });

  for (const file of ['agent.ts', 'agent.py']) {
    it(`${file}: the task that was asked for is run in a worker that someone else starts, which then ends`, async () => {
      const launch = await prepare(file, 1);
      const worker = start(launch);
      const [code] = await once(worker, 'exit') as [number];
      assert.equal(code, 0);
      const run = await trainer.runs.wait(launch.run_id);
      assert.equal(run.status, 'succeeded', run.error ?? '');
      const { rollout, spans } = await client.call('trace.get', { rollout_id: launch.rollout_id });
      assert.deepEqual([rollout.task_id, rollout.attempt?.outcome, rollout.attempt?.reward], ['q1', 'scored', 0.5]);
      assert.ok(spans.length >= 3);
    });
  }

  it('its environment holds the way in, and nothing that the trainer has anyway', async () => {
    const launch = await prepare('agent.ts');
    assert.match(launch.env['AGENT_TRAINER_SOCKET'] ?? '', /^127\.0\.0\.1:\d+$/);
    assert.ok(!('PATH' in launch.env));
    await client.call('runs.cancel', { run_id: launch.run_id });
  });

  it('a debugger that stops the worker cancels the rollout', async () => {
    const launch = await prepare('agent.ts');
    let called!: () => void;
    const inCall = new Promise<void>((resolve) => { called = resolve; });
    server.next(() => called());
    const worker = start(launch);
    await inCall;
    worker.kill('SIGKILL');
    await trainer.runs.wait(launch.run_id);
    const [rollout] = await client.call('rollouts.list', { run_id: launch.run_id });
    assert.equal(rollout?.attempt?.outcome, 'cancelled');
  });

  it('an agent that cannot be loaded fails the run with the reason, and its worker ends', async () => {
    const launch = await prepare('broken.ts');
    const worker = start(launch);
    await once(worker, 'exit');
    const run = await trainer.runs.wait(launch.run_id);
    assert.equal(run.status, 'failed');
    assert.match(run.error ?? '', /broken\.ts cannot be imported/);
  });

  it('wrong requests are refused before anything starts', async () => {
    await assert.rejects(prepare('missing.ts'), /bad_input: .*missing\.ts/);
    await assert.rejects(prepare('agent.ts', 7), /bad_input: .*no task number 8/);
    const { run_id } = await prepare('agent.ts');
    await client.call('runs.cancel', { run_id });
    assert.equal((await trainer.runs.wait(run_id)).status, 'cancelled');
  });
});
