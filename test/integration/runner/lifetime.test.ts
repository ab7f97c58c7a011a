import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { membersOf } from '../../../trainer/runner/process-group.ts';
import { bench, languages, until, workspace, type Bench } from './harness.ts';

/** Process ids that the agent's 'hang' wrote: its own and its child's. */
function pidsIn(file: string): number[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').map(Number) : [];
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

for (const { language, file } of languages) {
  describe(`life and death of workers (${language})`, function () {
    this.timeout(60_000);
    let desk: Bench;
    let folder: string;
    let pids: string;
    beforeEach(async () => {
      desk = await bench();
      folder = workspace();
      pids = join(folder, 'pids');
    });
    afterEach(() => desk.close());

    const started = async () => {
      await until(() => pidsIn(pids).length === 2 && pidsIn(pids).every(isRunning));
      await setTimeout(200); // what the agent said before it wrote the file may still be on its way
      return pidsIn(pids);
    };
    const noneOf = (running: number[]) => !running.some(isRunning) && membersOf(running[0]!).length === 0;

    it('stop ends a stuck agent and its children, and records the attempt as cancelled', async () => {
      const runner = await desk.runner(`${file}:agent`);
      const [id] = desk.enqueue([{ do: 'hang', pids }]);
      const running = await started();
      await runner.stop();
      assert.ok(noneOf(running));
      assert.equal(desk.store.getRollout(id!)!.attempt!.outcome, 'cancelled');
    });

    it('a time limit ends the agent and its children; a new worker takes the next rollout', async () => {
      await desk.runner(`${file}:agent`, { timeout_seconds: 2 });
      const [hung, next] = await desk.roll([{ do: 'hang', pids }, { do: 'reward' }]);
      assert.equal(hung!.attempt!.outcome, 'timeout');
      assert.match(hung!.attempt!.error!, /did not finish within 2 s/);
      assert.equal(next!.attempt!.outcome, 'scored');
      assert.notEqual(next!.attempt!.worker_id, hung!.attempt!.worker_id);
      await until(() => noneOf(pidsIn(pids)));
    });

    it('cancelling a rollout ends its agent; the others go on', async () => {
      await desk.runner(`${file}:agent`, { n_runners: 2 });
      const [hung, waiting] = desk.enqueue([{ do: 'hang', pids }, { do: 'wait' }]);
      const running = await started();
      desk.store.cancelRollouts({ rollout_ids: [hung!] });
      assert.ok(desk.store.listSpans(hung!).length > 0, 'the spans are there as soon as the rollout has ended');
      await until(() => noneOf(running));
      const { attempt } = desk.store.getRollout(hung!)!;
      assert.deepEqual([attempt!.outcome, attempt!.metadata], ['cancelled', null]);
      assert.match(desk.store.listSpans(hung!)[0]!.status.description!, /did not end/);
      const [next] = await desk.roll([{ do: 'reward' }]);
      assert.equal(next!.attempt!.outcome, 'scored');
      assert.equal(desk.store.getRollout(waiting!)!.attempt!.outcome, null);
    });

    it('nothing survives a trainer that is killed', async () => {
      const script = fileURLToPath(new URL('trainer-process.ts', import.meta.url));
      const trainer = spawn(process.execPath, ['--import', 'tsx', script, `${file}:agent`, folder, pids], { stdio: 'inherit' });
      const running = await started();
      trainer.kill('SIGKILL');
      await once(trainer, 'exit');
      await until(() => noneOf(running));
    });

    it('a rollout whose resources do not exist says so, and the worker goes on', async () => {
      await desk.runner(`${file}:agent`);
      const [lost, fine] = await desk.store.waitForRollouts([...desk.enqueue([{ do: 'reward' }], {}, 'rs-none'), ...desk.enqueue([{ do: 'reward' }])]);
      assert.equal(lost!.attempt!.outcome, 'infra_error');
      assert.match(lost!.attempt!.error!, /resources rs-none, which do not exist/);
      assert.equal(fine!.attempt!.outcome, 'scored');
    });

    it('retries as the rollout says, each time a new attempt', async () => {
      await desk.runner(`${file}:agent`);
      const [failed] = await desk.roll([{ do: 'raise' }], { max_attempts: 3, retry_condition: ['failed'] });
      assert.deepEqual([failed!.status, failed!.attempt!.sequence_id], ['failed', 3]);
      const [once] = await desk.roll([{ do: 'raise' }], { max_attempts: 3, retry_condition: ['timeout'] });
      assert.equal(once!.attempt!.sequence_id, 1);
    });

    it('a gateway that is gone is not the agent\'s fault', async () => {
      await desk.runner(`${file}:agent`, {}, { gateway: { url: 'http://127.0.0.1:9', key: 'k' } });
      const [rollout] = await desk.roll([{ do: 'call_badly', text: 'x' }]);
      assert.equal(rollout!.attempt!.outcome, 'infra_error', rollout!.attempt!.error!);
      assert.match(rollout!.attempt!.error!, /could not reach the gateway/);
    });

    it('the number of workers follows setRunners', async () => {
      const runner = await desk.runner(`${file}:agent`, { n_runners: 3 });
      const running = () => desk.store.listRollouts({ status_in: ['preparing', 'running'] }).length;
      const ids = desk.enqueue([{ do: 'wait' }, { do: 'wait' }, { do: 'wait' }, { do: 'wait' }]);
      await until(() => running() === 3);
      runner.setRunners(4);
      await until(() => running() === 4);
      runner.setRunners(1);
      desk.store.cancelRollouts({ rollout_ids: ids.slice(0, 3) });
      const more = desk.enqueue([{ do: 'reward' }]);
      await until(() => running() === 1);
      assert.equal(desk.store.getRollout(more[0]!)!.status, 'queuing');
      desk.store.cancelRollouts({ rollout_ids: ids.slice(3) });
      const [rollout] = await desk.store.waitForRollouts(more);
      assert.equal(rollout!.attempt!.reward, 0.5);
    });
  });
}

describe('processes that leave the worker\'s group', function () {
  this.timeout(60_000);

  it('are ended with the worker, also when they start others and hold its output', async () => {
    const desk = await bench();
    const pids = join(workspace(), 'pids');
    const folder = workspace({ 'a.py': `
import subprocess, time
from agent_trainer import rollout
@rollout
def f(task):
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $$ $! > ${pids}.new; mv ${pids}.new ${pids}; wait"], start_new_session=True)
    return 1.0
` });
    const runner = await desk.runner('a.py', {}, { workspace: folder });
    const [rollout] = await desk.roll([{}]);
    assert.equal(rollout!.attempt!.outcome, 'scored');
    await until(() => pidsIn(pids).length === 2);
    const running = pidsIn(pids);
    assert.ok(running.every(isRunning));
    await runner.stop();
    assert.ok(!running.some(isRunning));
    await desk.close();
  });
});

describe('workers that cannot be started any more', function () {
  this.timeout(60_000);

  it('fail what is queued instead of letting it wait for ever', async () => {
    const desk = await bench();
    const flag = join(workspace(), 'flag');
    const folder = workspace({ 'a.py': `
import os
from agent_trainer import rollout
if os.path.exists(${JSON.stringify(flag)}): raise RuntimeError("only once")
open(${JSON.stringify(flag)}, "w").close()
@rollout
def f(task): os._exit(1)
` });
    await desk.runner('a.py', {}, { workspace: folder });
    const rollouts = await desk.roll([{}, {}]);
    assert.deepEqual(rollouts.map(({ attempt }) => attempt!.outcome), ['agent_error', 'infra_error']);
    assert.match(rollouts[1]!.attempt!.error!, /No worker could be started, 3 times in a row: .*only once/);
    await desk.close();
  });
});
