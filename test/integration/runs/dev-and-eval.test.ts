import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { StartRun, TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import { DevResult, EvalResult, type Run } from '../../../trainer/protocol/run.ts';
import { attr, isLlmCall } from '../../../trainer/protocol/span.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { say, startOpenAIServer, type OpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace, nodeAgent, pythonAgent, type Workspace } from './workspace.ts';

describe('dry runs and evaluations', function () {
  this.timeout(60_000); // worker processes start in each

  let workspace: Workspace;
  let trainer: Trainer;
  let model: OpenAIServer;
  const servers: OpenAIServer[] = [];

  beforeEach(async () => {
    model = await serve('eeee!!!!');
    workspace = makeWorkspace({ 'agent.py': pythonAgent, 'agent.ts': nodeAgent, 'tasks.jsonl': letterTasks(4) });
    trainer = await openTrainer({ workspace: workspace.folder });
  });
  afterEach(async () => {
    await trainer.close();
    await Promise.all(servers.splice(0).map((server) => server.close()));
    workspace.remove();
  });

  const serve = async (text: string) => {
    const server = await startOpenAIServer(say(text));
    servers.push(server);
    return server;
  };
  const toEnd = async (request: StartRun): Promise<Run> => trainer.runs.wait(trainer.runs.start(request).run_id);
  const refused = (request: StartRun, message: RegExp) => assert.throws(() => trainer.runs.start(request), (error) => error instanceof TrainerError && message.test(error.message));

  for (const agent of ['agent.py', 'agent.ts']) {
    it(`dry run of ${agent}: every task once, its reward and spans`, async () => {
      const events: TrainerEvent[] = [];
      trainer.store.onEvent((event) => events.push(event));
      const run = await toEnd({ kind: 'dev', agent, data: 'tasks.jsonl', limit: 3, policy: model.url });
      assert.equal(run.status, 'succeeded', run.error ?? '');
      assert.equal(run.agent, agent);
      const result = DevResult.parse(run.result);
      assert.deepEqual(result.rollouts.map(({ status, reward, error }) => ({ status, reward, error })), Array(3).fill({ status: 'scored', reward: 0.5, error: null }));
      assert.equal(result.mean_reward, 0.5);
      assert.ok(result.rollouts.every((rollout) => rollout.spans >= 2));
      const spans = trainer.store.listSpans(result.rollouts[0]!.rollout_id);
      assert.equal(spans.find(isLlmCall)?.attributes[attr.responseModel], 'tiny');
      assert.deepEqual(events.flatMap((event) => (event.type === 'run' ? event.run.phase : [])).filter((phase, i, all) => phase !== all[i - 1]), ['starting', 'rollouts', 'done']);
      assert.equal(trainer.gateway.backends.size, 0);
    });
  }

  it('takes the model from the nearest agent-trainer.json', async () => {
    workspace.write('deep/agent.py', pythonAgent);
    workspace.write('agent-trainer.json', { agent: 'agent.py', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'other' }, seed: 3 });
    const run = await toEnd({ kind: 'dev', agent: 'deep/agent.py', data: 'tasks.jsonl', limit: 1 });
    assert.equal(run.status, 'succeeded', run.error ?? '');
    assert.equal(run.agent, 'deep/agent.py');
    assert.equal(model.requests.at(-1)?.body['model'], 'other');
  });

  it('a failing task is a result, not the end', async () => {
    workspace.write('mixed.jsonl', [{ question: 'a', letters: 'e' }, { question: 'b', letters: 'e', crash: 'this' }]);
    const run = await toEnd({ kind: 'dev', agent: 'agent.py', data: 'mixed.jsonl', policy: model.url });
    const { rollouts, mean_reward } = DevResult.parse(run.result);
    assert.deepEqual(rollouts.map((rollout) => rollout.status), ['scored', 'agent_error']);
    assert.match(rollouts[1]?.error ?? '', /cannot do this/);
    assert.equal(mean_reward, 0.5);
  });

  it('an evaluation scores a policy; one against another compares the same tasks with the same seeds', async () => {
    const weak = await serve('e!!!!!!!');
    workspace.write('two.jsonl', [...letterTasks(4), { id: 'bad', question: 'x', letters: 'e', crash: 'it' }]);
    const alone = EvalResult.parse((await toEnd({ kind: 'eval', agent: 'agent.py', data: 'two.jsonl', policy: model.url })).result);
    assert.deepEqual(alone.policy, { mean_reward: 0.4, n: 5 });
    assert.equal(alone.difference, null);

    const run = await toEnd({ kind: 'eval', agent: 'agent.py', data: 'two.jsonl', policy: model.url, against: weak.url });
    assert.equal(run.status, 'succeeded', run.error ?? '');
    const { policy, against, difference, rollouts } = EvalResult.parse(run.result);
    assert.deepEqual([policy, against], [{ mean_reward: 0.4, n: 5 }, { mean_reward: 0.1, n: 5 }]);
    assert.ok(difference && Math.abs(difference.mean - 0.3) < 1e-12 && difference.ci95[0] > 0);
    assert.equal(difference.p_value, 2 / 2 ** 4);
    assert.equal(rollouts.length, 10);
    const chats = (server: OpenAIServer) => server.requests.filter((request) => request.path.endsWith('/chat/completions')).slice(-4);
    const seeds = (server: OpenAIServer) => chats(server).map(({ body }) => body['seed']).sort();
    assert.deepEqual(seeds(weak), seeds(model));
    assert.ok(chats(weak).every(({ body }) => body['temperature'] === 0));
  });

  it('a configuration names agent, tasks and model of an evaluation, which does the validation tasks or some of them', async () => {
    workspace.write('heldout.jsonl', letterTasks(3, 10));
    workspace.write('deep/agent-trainer.json', { agent: '../agent.py', data: { train: '../tasks.jsonl', validation: '../heldout.jsonl' }, model: { endpoint: model.url, name: 'tiny' }, eval_sampling: { temperature: 0.25 } });
    const config_path = 'deep/agent-trainer.json';
    const { agent, file, tasks } = await trainer.runs.tasks(config_path);
    assert.deepEqual([agent, file], ['../agent.py', path.join(workspace.folder, 'heldout.jsonl')]);
    assert.deepEqual(tasks.map(({ task_id, line }) => [task_id, line]), [['q10', 1], ['q11', 2], ['q12', 3]]);
    assert.equal(model.requests.length, 0);

    const all = await toEnd({ kind: 'eval', config_path });
    assert.equal(all.status, 'succeeded', all.error ?? '');
    assert.equal(all.agent, 'agent.py');
    assert.deepEqual(EvalResult.parse(all.result).policy, { mean_reward: 0.5, n: 3 });
    assert.equal(model.requests.at(-1)?.body['temperature'], 0.25);
    const two = await toEnd({ kind: 'eval', config_path, task_ids: ['q12', 'q10'] });
    assert.deepEqual(trainer.store.listRollouts({ run_id: two.run_id }).map(({ task_id }) => task_id), ['q10', 'q12']);
    assert.match((await toEnd({ kind: 'eval', config_path, task_ids: ['q1'] })).error ?? '', /no task "q1" among the 3 tasks/);

    const other = await serve('e!!!!!!!');
    const chosen = await toEnd({ kind: 'eval', config_path, task_ids: ['q10'], model: { kind: 'endpoint', url: other.url, name: 'tiny', api_key: 'secret' } });
    assert.deepEqual(EvalResult.parse(chosen.result).policy, { mean_reward: 0.125, n: 1 });
    assert.ok(!JSON.stringify(chosen.config).includes('secret'));
    const dry = await toEnd({ kind: 'dev', config_path, limit: 2 });
    assert.deepEqual(trainer.store.listRollouts({ run_id: dry.run_id }).map(({ task_id }) => task_id), ['q0', 'q1']);
  });

  it('says what is wrong with a request, and with an agent that cannot be loaded', async () => {
    refused({ kind: 'dev', data: 'tasks.jsonl' }, /needs "agent"/);
    refused({ kind: 'dev', agent: 'agent.py' }, /needs "data"/);
    refused({ kind: 'dev', agent: 'nobody.py', data: 'tasks.jsonl' }, /nobody\.py/);
    refused({ kind: 'dev', agent: 'agent.py', data: 'tasks.jsonl' }, /No model to run/);
    refused({ kind: 'eval', agent: 'agent.py', data: 'tasks.jsonl' }, /needs "policy"/);
    refused({ kind: 'train' }, /needs "config_path"/);
    refused({ kind: 'train', resume: 'ru-none' }, /There is no run ru-none/);
    refused({ kind: 'dance' } as unknown as StartRun, /kind/);
    workspace.write('broken.py', 'import no_such_module\n');
    const run = await toEnd({ kind: 'dev', agent: 'broken.py', data: 'tasks.jsonl', policy: model.url });
    assert.equal(run.status, 'failed');
    assert.match(run.error ?? '', /no_such_module/);
    assert.match((await toEnd({ kind: 'dev', agent: 'agent.py', data: 'none.jsonl', policy: model.url })).error ?? '', /none\.jsonl/);
  });

  it('cancel ends the agent processes, then the run; a second cancel is refused', async () => {
    const pids = path.join(workspace.folder, 'pids');
    mkdirSync(pids);
    workspace.write('hang.jsonl', Array.from({ length: 3 }, () => ({ question: 'a', letters: 'e', hang: pids })));
    const { run_id } = trainer.runs.start({ kind: 'dev', agent: 'agent.ts', data: 'hang.jsonl', policy: model.url });
    while (readdirSync(pids).length < 2) await new Promise((resolve) => setTimeout(resolve, 20)); // mocha's time limit ends it
    const run = await trainer.runs.cancel(run_id);
    assert.equal(run.status, 'cancelled');
    for (const pid of readdirSync(pids)) assert.throws(() => process.kill(Number(pid), 0), /ESRCH/);
    assert.ok(trainer.store.listRollouts({ run_id }).every((rollout) => rollout.status === 'cancelled'));
    assert.deepEqual(await trainer.runs.wait(run_id), run);
    await assert.rejects(trainer.runs.cancel(run_id), /already ended \(cancelled\)/);
  });

  it('a second trainer leaves the runs of a living one alone, and marks those of a dead one', async () => {
    const pids = path.join(workspace.folder, 'pids');
    mkdirSync(pids);
    workspace.write('hang.jsonl', [{ question: 'a', letters: 'e', hang: pids }]);
    const { run_id } = trainer.runs.start({ kind: 'dev', agent: 'agent.ts', data: 'hang.jsonl', policy: model.url });
    while (readdirSync(pids).length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    const dead = trainer.store.createRun({ run_id: 'ru-dead', kind: 'train', status: 'running', phase: 'training', agent: 'agent.py', config: {}, create_time: 1, end_time: null, error: null, result: null });
    trainer.store.enqueueRollouts([{ run_id: dead.run_id, input: 1 }]);

    const second = await openTrainer({ workspace: workspace.folder });
    try {
      assert.equal(second.store.getRun(run_id)?.status, 'running');
      const marked = second.store.getRun(dead.run_id);
      assert.equal(marked?.status, 'interrupted');
      assert.match(marked?.error ?? '', /train --resume ru-dead/);
      assert.equal(second.store.listRollouts({ run_id: dead.run_id })[0]?.status, 'cancelled');
      await assert.rejects(second.runs.cancel(run_id), /belongs to another trainer/);
    } finally {
      await second.close();
    }
    await trainer.runs.cancel(run_id);
  });
});
