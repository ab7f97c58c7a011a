import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RpcMethod, RpcParams, TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import { TrainResult, type Run, type StepMetrics } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { Client } from '../server/client.ts';
import { letterTasks, makeWorkspace, nodeAgent, type Workspace } from './workspace.ts';

const config = {
  agent: 'agent.ts', model: { path: 'policy' }, seed: 5, threads: 1,
  data: { train: 'train.jsonl', validation: 'heldout.jsonl' },
  grpo: { steps: 4, train_batch_size: 4, group_size: 4, lr: 3e-3, agent_match: 'answer' },
  runner: { n_runners: 2 },
};

/** Everything of a step that does not depend on the clock. */
const learned = (steps: StepMetrics[]) => steps.map(({ step, policy_version, reward_mean, loss, grad_norm, trained_tokens, staleness }) => ({ step, policy_version, reward_mean, loss, grad_norm, trained_tokens, staleness }));

describe('runs under control, over the wire', function () {
  this.timeout(240_000); // whole training runs

  let made: Workspace;
  let trainer: Trainer;
  let client: Client;

  beforeEach(async () => {
    made = makeWorkspace({ 'agent.ts': nodeAgent, 'train.jsonl': letterTasks(8), 'heldout.jsonl': letterTasks(4, 100), 'agent-trainer.json': config });
    await makeTinyPolicy(path.join(made.folder, 'policy'));
    trainer = await openTrainer({ workspace: made.folder });
    client = await Client.connect(trainer);
    await client.call('events.subscribe', { types: ['run', 'run-deleted', 'step', 'rollout'] });
  });
  afterEach(async () => {
    await client.close();
    await trainer.close();
    made.remove();
  });

  const start = async (overrides: Record<string, unknown> = {}) => (await client.call('runs.start', { kind: 'train', config_path: 'agent-trainer.json', overrides })).run_id;
  const told = (condition: (event: TrainerEvent) => boolean) => client.seen((events) => events.some(condition));
  const toldRun = (condition: (run: Run) => boolean) => told((event) => event.type === 'run' && condition(event.run));
  const step = (index: number) => told((event) => event.type === 'step' && event.metrics.step === index);
  const ended = (run_id: string) => trainer.runs.wait(run_id);

  it('a paused run stands still between rollouts, and then goes on as if nothing had happened', async () => {
    const undisturbed = await ended(await start());
    assert.equal(undisturbed.status, 'succeeded', undisturbed.error ?? '');
    const expected = learned(trainer.store.listSteps(undisturbed.run_id));

    client.events.length = 0;
    const run_id = await start();
    await step(0);
    await client.call('runs.pause', { run_id });
    await toldRun((run) => run.run_id === run_id && run.pause === 'paused');
    assert.equal(trainer.store.getRun(run_id)?.pause, 'paused');
    const rollouts = () => trainer.store.listRollouts({ run_id }).map(({ rollout_id, status }) => `${rollout_id} ${status}`);
    const [before, steps] = [rollouts(), trainer.store.listSteps(run_id).length];
    assert.ok(before.some((each) => each.endsWith('queuing')));
    assert.ok(!before.some((each) => each.endsWith('running') || each.endsWith('preparing')));
    await new Promise((resolve) => { setTimeout(resolve, 300); }); // time in which a run that goes on would show it
    assert.deepEqual([rollouts(), trainer.store.listSteps(run_id).length], [before, steps]);

    assert.equal((await client.call('runs.resume', { run_id })).pause, null);
    const run = await ended(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    assert.equal(run.pause, null);
    assert.deepEqual(learned(trainer.store.listSteps(run_id)), expected);
    assert.ok(expected.every(({ staleness }) => staleness === 0), 'on-policy: no update between sampling and learning');
  });

  it('pause is kept when it comes before the agent runs, and cancel ends a paused run', async () => {
    const run_id = await start();
    await client.call('runs.pause', { run_id });
    await toldRun((run) => run.pause === 'paused');
    assert.deepEqual(trainer.store.listRollouts({ run_id }).map(({ status }) => status), ['queuing']); // of the self-check
    assert.equal((await client.call('runs.cancel', { run_id })).status, 'cancelled');
    assert.equal(trainer.store.getRun(run_id)?.pause, null);
  });

  it('the number of runners follows while it runs, and is kept for a resume', async () => {
    const run_id = await start({ grpo: { ...config.grpo, steps: 100_000 } });
    const workersOf = (from: number) => new Set(client.events.slice(from).flatMap((event) => (event.type === 'rollout' && event.rollout.status === 'running' ? event.rollout.attempt?.worker_id ?? [] : [])));
    await step(0);
    assert.equal(workersOf(0).size, 2);
    assert.equal((await client.call('runs.set_runners', { run_id, n: 4 })).runners, 4);
    const raised = client.events.length;
    await client.seen(() => workersOf(raised).size === 4);
    await client.call('runs.set_runners', { run_id, n: 1 });
    await client.seen((events) => {
      const last = events.findLastIndex((event) => event.type === 'step');
      const previous = events.slice(0, last).findLastIndex((event) => event.type === 'step');
      return previous > raised && workersOf(previous).size === 1;
    });
    await client.call('runs.cancel', { run_id });
    assert.equal((await client.call('runs.resume', { run_id })).status, 'running');
    const resumed = client.events.length;
    await client.seen((events) => events.slice(resumed).some((event) => event.type === 'step'));
    assert.equal(workersOf(resumed).size, 1);
    await client.call('runs.cancel', { run_id });
  });

  it('a step that is made anew after an interruption lists its counted rollouts only', async () => {
    const run_id = await start({ checkpoints: { keep_last: 2, every: 2 } });
    await step(0);
    await told((event) => event.type === 'rollout' && event.rollout.step === 1 && event.rollout.status === 'succeeded');
    await client.call('runs.cancel', { run_id });
    assert.deepEqual((await client.call('runs.get', { run_id })).checkpoints, []);
    await client.call('runs.resume', { run_id });
    const run = await ended(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');

    const { steps, checkpoints } = await client.call('runs.get', { run_id });
    assert.deepEqual(checkpoints.map((checkpoint) => [checkpoint.step, existsSync(checkpoint.folder)]), [[1, true], [3, true]]);
    for (const { step: index, funnel } of steps) {
      const listed = await client.call('rollouts.list', { run_id, step: index });
      assert.equal(listed.length, funnel.rollouts);
      assert.ok(listed.every((rollout) => rollout.metadata?.['superseded'] === undefined));
    }
    const set_aside = (await client.call('rollouts.list', { run_id })).filter((rollout) => rollout.metadata?.['superseded'] === true);
    assert.deepEqual([...new Set(set_aside.map((rollout) => rollout.step))], [0, 1]);
    assert.equal(set_aside.filter((rollout) => rollout.step === 0).length, 16);
  });

  it('exports a run as files, and deletes it', async () => {
    const run_id = await start({ grpo: { ...config.grpo, steps: 2 } });
    const refused = <M extends RpcMethod>(method: M, params: RpcParams<M>, message: RegExp) => assert.rejects(client.call(method, params), message);
    await refused('runs.delete', { run_id }, /conflict: .*still going/);
    const run = await ended(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    await refused('runs.pause', { run_id }, /conflict: .*already ended \(succeeded\); it cannot be paused/);
    await refused('runs.set_runners', { run_id, n: 3 }, /conflict: .*already ended/);
    await refused('runs.set_runners', { run_id, n: 0 }, /bad_input: /);
    await refused('runs.resume', { run_id }, /conflict: .*has succeeded/);

    const folder = path.join(made.folder, 'out', 'my run');
    const exported = await client.call('runs.export', { run_id, folder });
    assert.equal(exported.folder, folder);
    const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
    const record = JSON.parse(read('run.json')) as { run: Run; checkpoints: { step: number; folder: string }[]; policy: string };
    assert.deepEqual(record.run, trainer.store.getRun(run_id));
    assert.equal(record.policy, TrainResult.parse(run.result).checkpoint);
    assert.deepEqual(record.checkpoints.map(({ step: index }) => index), [0, 1]);
    const steps = trainer.store.listSteps(run_id);
    assert.deepEqual(JSON.parse(read('metrics.json')), steps);
    const [head, ...rows] = read('metrics.csv').trim().split('\n').map((line) => line.split(','));
    assert.deepEqual(rows.map((row) => ['step', 'reward_mean', 'kl', 'funnel_used'].map((column) => row[head!.indexOf(column)])),
      steps.map((each) => [String(each.step), String(each.reward_mean), '', String(each.funnel.used)]));
    const traces = read('traces.jsonl').trim().split('\n').map((line) => JSON.parse(line) as { rollout: { rollout_id: string }; spans: unknown[] });
    const rollouts = trainer.store.listRollouts({ run_id });
    assert.deepEqual(traces.map(({ rollout }) => rollout.rollout_id), rollouts.map(({ rollout_id }) => rollout_id));
    assert.deepEqual(traces[5]?.spans, trainer.store.listSpans(rollouts[5]!.rollout_id));
    await refused('runs.export', { run_id, folder }, /conflict: .*exists already/);
    made.write('file', '');
    await refused('runs.export', { run_id, folder: path.join('file', 'inside') }, /environment: .*could not be exported/);

    assert.deepEqual(await client.call('runs.delete', { run_id }), {});
    await told((event) => event.type === 'run-deleted' && event.run_id === run_id);
    assert.deepEqual(await client.call('runs.list', {}), []);
    await refused('runs.get', { run_id }, /not_found: /);
    await refused('trace.get', { rollout_id: rollouts[0]!.rollout_id }, /not_found: /);
    assert.deepEqual(trainer.store.listRollouts({}), []);
    assert.ok(!existsSync(path.join(made.folder, '.agent-trainer', 'runs', run_id)));
    assert.ok(existsSync(path.join(folder, 'run.json')), 'what was exported stays');
  });

  it('a dry run can be paused too', async () => {
    const { run_id } = await client.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'train.jsonl', policy: 'policy' });
    await client.call('runs.pause', { run_id });
    await toldRun((run) => run.pause === 'paused');
    await client.call('runs.resume', { run_id });
    assert.equal((await ended(run_id)).status, 'succeeded');
  });
});
