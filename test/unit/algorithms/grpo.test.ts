import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Checkpoints } from '../../../trainer/algorithms/checkpoints.ts';
import { trainGrpo, type GrpoJob } from '../../../trainer/algorithms/grpo.ts';
import { loadBest } from '../../../trainer/algorithms/training-job.ts';
import { TrainConfig } from '../../../trainer/protocol/config.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { Policy, TrainRow, UpdateMetrics, UpdateSettings } from '../../../trainer/protocol/policy.ts';
import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { workOff, type ScriptedEnd } from './scripted-agents.ts';

const tasks = Array.from({ length: 10 }, (_, i) => ({ id: `t${i}`, input: { i }, line: i + 1 }));

/** Learns nothing, but notes what it was given. */
class NotingPolicy implements Pick<Policy, 'version' | 'update' | 'save'> {
  version = 0;
  readonly updates: { mini_batches: TrainRow[][]; settings: UpdateSettings }[] = [];
  ratioDeviation = 0;

  async update(mini_batches: TrainRow[][], settings: UpdateSettings): Promise<UpdateMetrics> {
    this.version += 1;
    this.updates.push({ mini_batches, settings });
    return { loss: 0.1, kl: null, entropy: 1, clip_fraction: 0, grad_norm: 2, ratio_deviation: this.ratioDeviation, logprob_max_diff: 0, trained_tokens: mini_batches.flat().length, out_of_memory: 0, micro_batch_tokens: Infinity };
  }
  readonly restored: string[] = [];
  async save(folder: string): Promise<void> { mkdirSync(folder); }
  async restore(folder: string): Promise<void> { this.restored.push(path.basename(folder)); }
}

describe('GRPO loop', () => {
  let folder: string;
  let stores: Store[];
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'grpo-')); stores = []; });
  afterEach(() => {
    for (const store of stores) store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** An agent whose answer and reward depend on the rollout's seed alone, as with a real policy. */
  const bySeed = (rollout: AttemptedRollout): ScriptedEnd => {
    const seed = rollout.config.seed!;
    return { outcome: 'scored', reward: seed % 3 === 0 ? 1 : 0, calls: [{ agent: 'write', prompt: [7, 8], response: [seed % 1000, seed % 77] }] };
  };

  const setUp = (grpo: object = {}, behave = bySeed, more: object = {}) => {
    const store = openStore(':memory:');
    stores.push(store);
    workOff(store, behave);
    store.createRun({ run_id: 'ru-1', kind: 'train', status: 'running', phase: 'training', agent: 'a.py', config: {}, create_time: 1, end_time: null, error: null, result: null });
    const config = TrainConfig.parse({ agent: 'a.py', data: { train: 'x' }, model: { path: 'p' }, seed: 4, grpo: { steps: 4, train_batch_size: 3, group_size: 4, lr: 0.5, lr_schedule: 'linear', ...grpo }, ...more });
    const policy = new NotingPolicy();
    const controller = new AbortController();
    const notices: string[] = [];
    const job: GrpoJob = {
      source: { store, run_id: 'ru-1', backend: 'b', limits: config.runner, signal: controller.signal },
      policy: policy as unknown as Policy, train: tasks, validation: tasks.slice(0, 2), config,
      checkpoints: new Checkpoints(path.join(folder, `c${stores.length}`), config.checkpoints.keep_last), firstStep: 0, evaluation_s: 100,
      paused_s: () => 0,
      notice: (level, message) => notices.push(`${level}: ${message}`),
    };
    return { store, policy, job, controller, notices };
  };

  it('samples a group of each task, learns once per step, reports and keeps every step', async () => {
    const { store, policy, job } = setUp();
    await trainGrpo(job);
    const steps = store.listSteps('ru-1');
    assert.deepEqual(steps.map(({ step, policy_version, lr, groups, updated }) => ({ step, policy_version, lr, groups, updated })),
      [0, 1, 2, 3].map((step) => ({ step, policy_version: step + 1, lr: 0.5 * (1 - step / 4), groups: 3, updated: true })));
    for (const step of steps) {
      const rollouts = store.listRollouts({ run_id: 'ru-1', step: step.step });
      assert.equal(rollouts.length, 12);
      assert.equal(step.funnel.rollouts, 12);
      assert.equal(step.reward_mean, rollouts.reduce((sum, rollout) => sum + rollout.attempt!.reward!, 0) / 12);
      assert.ok(rollouts.every((rollout) => rollout.mode === 'train' && rollout.config.sampling.temperature === 1));
      assert.ok(step.eta_s! >= 100);
    }
    assert.deepEqual(policy.updates.map(({ settings }) => settings.lr), [0.5, 0.375, 0.25, 0.125]);
    assert.equal(job.checkpoints.latest()?.step, 3);
    const seeds = store.listRollouts({ run_id: 'ru-1' }).map((rollout) => rollout.config.seed);
    assert.equal(new Set(seeds).size, 48);
  });

  it('repeats: the same rows in the same order, though rollouts overtake each other', async () => {
    const [first, second, other] = [setUp(), setUp(), setUp({}, bySeed, { seed: 5 })];
    await Promise.all([first, second, other].map(({ job }) => trainGrpo(job)));
    assert.deepEqual(second.policy.updates, first.policy.updates);
    assert.notDeepEqual(other.policy.updates, first.policy.updates);
  });

  it('two steps, then the other two, are the four steps', async () => {
    const whole = setUp();
    await trainGrpo(whole.job);
    const half = setUp();
    half.job.config = { ...half.job.config, checkpoints: { ...half.job.config.checkpoints, every: 2 } };
    half.policy.update = async function (this: NotingPolicy, rows, settings) {
      if (this.version === 3) throw new TrainerError('internal', 'killed');
      return NotingPolicy.prototype.update.call(this, rows, settings);
    };
    await assert.rejects(trainGrpo(half.job), /killed/);
    const last = half.job.checkpoints.latest()!;
    assert.equal(last.step, 1);
    const rest = new NotingPolicy();
    rest.version = 2;
    await trainGrpo({ ...half.job, policy: rest as unknown as Policy, firstStep: last.step + 1 });
    assert.deepEqual([...half.policy.updates.slice(0, 2), ...rest.updates], whole.policy.updates);
    const curve = (store: Store) => store.listSteps('ru-1').map(({ step, reward_mean, policy_version, trained_tokens }) => ({ step, reward_mean, policy_version, trained_tokens }));
    assert.deepEqual(curve(half.store), curve(whole.store));
  });

  it('a step without a signal is recorded as not updated, with the reason, and the run goes on', async () => {
    const { store, policy, job, notices } = setUp({ steps: 3 }, (rollout) => ({ ...bySeed(rollout), outcome: 'scored', reward: rollout.step! < 2 ? 1 : bySeed(rollout).reward }));
    await trainGrpo(job);
    const [flat, , good] = store.listSteps('ru-1');
    assert.deepEqual([flat?.updated, flat?.loss, flat?.groups_without_variance, flat?.policy_version, flat?.trained_tokens], [false, null, 3, 0, 0]);
    assert.equal(good?.updated, true);
    assert.equal(policy.updates.length, 1);
    assert.deepEqual(notices, ['warning: Step 1: nothing to learn from, the policy stays as it is: group without variance (12). All tries at a task earned the same reward. Learning needs tasks that the model gets right sometimes, but not always.'], 'once');
  });

  it('dynamic sampling goes on with other tasks until enough groups differ, or for the rounds allowed', async () => {
    // Only the groups of three of the ten tasks have variance.
    const mixed = new Set(['t1', 't4', 't7']);
    const behave = (rollout: AttemptedRollout): ScriptedEnd => ({ ...bySeed(rollout), outcome: 'scored', reward: mixed.has(rollout.task_id!) ? Number((rollout.metadata as { sample: number }).sample % 2) : 0 });
    const { store, policy, job } = setUp({ filter_groups: { enable: true } }, behave);
    await trainGrpo(job);
    for (const { step, groups, groups_without_variance, funnel } of store.listSteps('ru-1')) {
      const rollouts = store.listRollouts({ run_id: 'ru-1', step });
      const tasks = rollouts.map(({ task_id }) => task_id!);
      assert.equal(new Set(tasks).size * 4, rollouts.length, 'no task twice in a step');
      assert.ok([...mixed].every((task) => tasks.includes(task)));
      assert.equal(groups - groups_without_variance, 3);
      assert.equal(funnel.rollouts, rollouts.length);
    }
    assert.ok(policy.updates.every(({ mini_batches }) => mini_batches.flat().length === 12));
    assert.ok(store.listSteps('ru-1').some(({ groups }) => groups > 3));

    const again = setUp({ filter_groups: { enable: true } }, behave);
    await trainGrpo(again.job);
    assert.deepEqual(again.policy.updates, policy.updates);

    const bounded = setUp({ filter_groups: { enable: true, max_num_gen_batches: 2 } }, (rollout) => ({ ...bySeed(rollout), outcome: 'scored', reward: 0 }));
    await trainGrpo(bounded.job);
    assert.deepEqual(bounded.store.listSteps('ru-1').map(({ groups, updated }) => [groups, updated]), new Array(4).fill([6, false]));
  });

  it('collects ahead: the next step\'s rollouts begin before the update, at most max_staleness updates old, and the age is told', async () => {
    for (const max_staleness of [0, 1, 2]) {
      let version = () => 0;
      const { store, policy, job } = setUp({ steps: 6, max_staleness }, (rollout) => {
        const end = bySeed(rollout);
        return { ...end, calls: end.calls.map((call) => ({ ...call, attributes: { [attr.policyVersion]: version() } })) };
      });
      version = () => policy.version;
      const begun: number[] = [];
      policy.update = async function (this: NotingPolicy, rows, settings) {
        begun.push(Math.max(...store.listRollouts({ run_id: 'ru-1' }).map(({ step }) => step!)) - this.version);
        while (store.listRollouts({ run_id: 'ru-1', status_in: ['queuing', 'preparing', 'running'] }).length > 0) await new Promise((resolve) => { setImmediate(resolve); });
        return NotingPolicy.prototype.update.call(this, rows, settings);
      };
      await trainGrpo(job);
      const steps = store.listSteps('ru-1');
      assert.deepEqual(begun, steps.map(({ step }) => Math.min(max_staleness, 5 - step)));
      assert.deepEqual(steps.map(({ staleness }) => staleness), steps.map(({ step }) => Math.min(max_staleness, step)), 'all were sampled as early as they may be');
      assert.equal(store.listRollouts({ run_id: 'ru-1' }).length, 72);
    }
  });

  it('what was collected ahead is cancelled when the training fails', async () => {
    const { store, policy, job } = setUp({ max_staleness: 2 });
    policy.update = async () => { throw new TrainerError('numeric', 'not finite'); };
    await assert.rejects(trainGrpo(job), /not finite/);
    assert.equal(store.listRollouts({ run_id: 'ru-1', status_in: ['queuing', 'preparing', 'running'] }).length, 0);
  });

  it('takes the KL from the reference off the reward where it is asked to, and reports it', async () => {
    const { store, policy, job } = setUp({ kl_coef: 0.1, steps: 1 }, (rollout) => ({ ...bySeed(rollout), outcome: 'scored', reward: 1 }));
    // The reference finds every token as likely as the sampler (-0.5), but those of the first sample of each group 2 nats less.
    const firsts = new Set<number>();
    Object.assign(policy, { logprobs: async (rows: { tokens: number[] }[], weights: string) => {
      assert.equal(weights, 'reference');
      return rows.map(({ tokens }, i) => {
        if (i % 4 === 0) firsts.add(tokens[2]!);
        return Float32Array.from(tokens, () => (i % 4 === 0 ? -2.5 : -0.5));
      });
    } });
    await trainGrpo(job);
    for (const row of policy.updates[0]!.mini_batches.flat()) assert.ok(Math.abs(row.advantages.at(-1)! - (firsts.has(row.tokens[2]!) ? -1.5 : 0.5)) < 1e-4, 'KL 4 nats · 0.1 for one in four, the others alike');
    assert.equal(store.listSteps('ru-1')[0]?.kl, 0.5);
  });

  it('no reward at all is null, not zero', async () => {
    const { store, job } = setUp({ steps: 1 }, () => ({ outcome: 'unscored', calls: [] }));
    await trainGrpo(job);
    assert.equal(store.listSteps('ru-1')[0]?.reward_mean, null);
  });

  it('fails when no rollout reached the agent', async () => {
    const { store, job } = setUp({}, () => ({ outcome: 'infra_error', error: 'no worker', calls: [] }));
    await assert.rejects(trainGrpo(job), (error) => error instanceof TrainerError && error.code === 'environment' && /All 12 rollouts.*no worker/.test(error.message));
    assert.equal(store.listSteps('ru-1').length, 0);
  });

  it('validates every test_freq steps, but not after the last', async () => {
    const { store, job } = setUp({ test_freq: 2 });
    await trainGrpo(job);
    assert.deepEqual(store.listSteps('ru-1').map((step) => step.val_reward === null), [true, false, true, true]);
    assert.equal(store.listRollouts({ run_id: 'ru-1', mode: 'val' }).length, 2);
  });

  describe('the best checkpoint', () => {
    const validated = [0.2, 0.9, 0.9, 0.5];
    const behave = (rollout: AttemptedRollout): ScriptedEnd => (rollout.mode === 'val' ? { outcome: 'scored', reward: validated[rollout.step!]!, calls: [] } : bySeed(rollout));
    const looking = (more: object = {}) => setUp({ test_freq: 1 }, behave, { checkpoints: { load_best_model_at_end: true, keep_last: 1, ...more } });
    const kept = ({ job }: { job: GrpoJob }) => job.checkpoints.list().map(({ step }) => step);

    it('is kept beside the newest, the earlier one on a tie, and loaded at the end', async () => {
      const run = looking();
      await trainGrpo(run.job);
      assert.deepEqual(run.store.listSteps('ru-1').map((step) => step.val_reward), validated);
      assert.deepEqual(kept(run), [1, 3]);
      assert.equal(await loadBest(run.job, 4), 1);
      assert.deepEqual(run.policy.restored, ['step-000001']);
      assert.match(run.notices.at(-1)!, /^info: The model of step 2 of 4 is kept/);
    });

    it('is kept, but not loaded, when that is not asked for', async () => {
      const run = looking({ load_best_model_at_end: false });
      await trainGrpo(run.job);
      assert.deepEqual(run.store.listSteps('ru-1').map((step) => step.val_reward), [0.2, 0.9, 0.9, null]);
      assert.deepEqual(kept(run), [1, 3]);
      assert.equal(await loadBest(run.job, 4), 3);
      assert.deepEqual(run.policy.restored, []);
    });

    it('is kept after a step that is otherwise not to be kept', async () => {
      const run = looking({ every: 3 });
      await trainGrpo(run.job);
      assert.deepEqual(kept(run), [1, 3]);
    });

    it('is not lost, nor another taken for it, wherever a run is killed', async () => {
      for (const dies of ['before the checkpoint', 'before old ones are deleted', 'after all'] as const) {
        for (const at of [0, 1, 2, 3]) {
          const run = looking();
          const save: Checkpoints['save'] = run.job.checkpoints.save.bind(run.job.checkpoints);
          run.job.checkpoints.save = async (policy, step, best) => {
            if (step !== at) return save(policy, step, best);
            if (dies === 'before old ones are deleted') mkdirSync(path.join(folder, `c${stores.length}`, `step-00000${step}`), { recursive: true });
            if (dies === 'after all') await save(policy, step, best);
            throw new TrainerError('internal', 'killed');
          };
          await assert.rejects(trainGrpo(run.job), /killed/);
          const last = run.job.checkpoints.latest()?.step ?? -1;
          assert.ok(at < 2 || kept(run).includes(1), `${dies} of step ${at}`);
          run.store.supersedeRollouts('ru-1', last + 1);
          run.job.checkpoints.save = save;
          await trainGrpo({ ...run.job, firstStep: last + 1 });
          // What was left over goes with the next save; after the last there is none.
          assert.deepEqual(kept(run), at === 3 && dies === 'before old ones are deleted' ? [1, 2, 3] : [1, 3], `${dies} of step ${at}`);
          assert.equal(await loadBest(run.job, 4), 1);
        }
      }
    });

    it('that is damaged is said, and the last step\'s model kept', async () => {
      const run = looking();
      await trainGrpo(run.job);
      run.policy.restore = () => Promise.reject(new TrainerError('bad_input', 'cut off'));
      assert.equal(await loadBest(run.job, 4), 3);
      assert.match(run.notices.at(-1)!, /^warning: Step 2 validated best, but its model cannot be loaded.*cut off/);
    });
  });

  it('refuses to begin when sampler and trainer disagree, and warns when they drift apart later', async () => {
    const bad = setUp();
    bad.policy.ratioDeviation = 0.02;
    await assert.rejects(trainGrpo(bad.job), (error) => error instanceof TrainerError && error.code === 'numeric');
    const drift = setUp({ steps: 2 });
    drift.policy.update = async function (this: NotingPolicy, rows, settings) {
      this.ratioDeviation = this.version === 0 ? 0 : 0.02;
      return NotingPolicy.prototype.update.call(this, rows, settings);
    };
    await trainGrpo(drift.job);
    assert.match(drift.notices[0] ?? '', /^warning: Step 2: the trainer's probabilities differ/);
  });

  it('stops within a step when cancelled', async () => {
    const { store, job, controller, policy } = setUp({}, (rollout) => {
      if (rollout.step === 1) controller.abort('cancel');
      return bySeed(rollout);
    });
    await assert.rejects(trainGrpo(job), (error) => error instanceof TrainerError && error.code === 'cancelled');
    assert.equal(policy.version, 1);
    assert.equal(store.listSteps('ru-1').length, 1);
    assert.equal(store.listRollouts({ run_id: 'ru-1', status_in: ['queuing', 'preparing', 'running'] }).length, 0);
  });
});
