import assert from 'node:assert/strict';
import fc from 'fast-check';
import { attemptStatuses, outcomes, type AttemptedRollout, type Outcome, type RolloutStatus } from '../../../trainer/protocol/rollout.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { spanOf, type Running } from './support.ts';

type Operation =
  | { kind: 'enqueue'; max_attempts: number; retry: boolean[]; timeout: number | null; unresponsive: number | null }
  | { kind: 'dequeue' }
  | { kind: 'span'; pick: number }
  | { kind: 'finish'; pick: number; outcome: Outcome }
  | { kind: 'cancel'; pick: number }
  | { kind: 'pass'; seconds: number };

const pick = fc.nat(1000);
const limit = fc.option(fc.constantFrom(2, 5), { nil: null });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('enqueue' as const), max_attempts: fc.integer({ min: 1, max: 3 }), retry: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), timeout: limit, unresponsive: limit }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('dequeue' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('span' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), pick, outcome: fc.constantFrom(...outcomes) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.constantFrom(1, 3) }) },
);

/** The rule in other words than the code's. */
function expectedStatus({ status, attempt, config }: AttemptedRollout): RolloutStatus {
  if (status === 'cancelled') return 'cancelled';
  if (!attempt) return 'queuing';
  if (['preparing', 'running', 'succeeded'].includes(attempt.status)) return attempt.status as RolloutStatus;
  return attempt.sequence_id < config.max_attempts && config.retry_condition.some((status) => status === attempt.status) ? 'requeuing' : 'failed';
}

function checkAlone(rollout: AttemptedRollout): void {
  const { status, attempt, end_time, config } = rollout;
  assert.equal(status, expectedStatus(rollout));
  assert.equal(end_time !== null, ['succeeded', 'failed', 'cancelled'].includes(status));
  if (!attempt) return;
  assert.ok(attempt.sequence_id <= config.max_attempts);
  assert.equal(attempt.outcome === null, ['preparing', 'running'].includes(attempt.status));
  assert.equal(attempt.reward !== null, attempt.outcome === 'scored');
  assert.equal(attempt.error !== null, attempt.outcome !== null && attempt.outcome !== 'scored');
  if (attempt.outcome === 'cancelled') assert.equal(status, 'cancelled');
}

function checkStep(before: AttemptedRollout, after: AttemptedRollout): void {
  const mayLive = before.status === 'failed' && before.attempt?.status === 'unresponsive';
  if (['succeeded', 'failed', 'cancelled'].includes(before.status) && !mayLive) assert.equal(after.status, before.status);
  if (!before.attempt || !after.attempt) return assert.ok(after.attempt || !before.attempt);
  assert.ok(after.attempt.sequence_id >= before.attempt.sequence_id);
  const counted = ['succeeded', 'failed', 'timeout'].includes(before.attempt.status);
  if (counted && after.attempt.attempt_id === before.attempt.attempt_id) {
    for (const field of ['status', 'outcome', 'reward', 'error', 'end_time'] as const) assert.equal(after.attempt[field], before.attempt[field], field);
  }
}

function execute(store: Store, clock: { time: number }, attempts: Running[], operation: Operation): void {
  const attempt = 'pick' in operation ? attempts[operation.pick % Math.max(1, attempts.length)] : undefined;
  switch (operation.kind) {
    case 'enqueue': {
      const retry_condition = attemptStatuses.filter((_, index) => operation.retry[index]);
      store.enqueueRollouts([{ input: null, config: { max_attempts: operation.max_attempts, retry_condition, timeout_seconds: operation.timeout, unresponsive_seconds: operation.unresponsive } }]);
      return;
    }
    case 'dequeue': {
      const waiting = store.listRollouts({ status_in: ['queuing', 'requeuing'] });
      const taken = store.dequeueRollout('worker');
      assert.equal(taken?.rollout_id, waiting[0]?.rollout_id);
      if (taken) attempts.push(taken as Running);
      return;
    }
    case 'span':
      if (attempt) store.addSpans([spanOf(attempt)]);
      return;
    case 'finish':
      if (attempt) store.finishAttempt(attempt.rollout_id, attempt.attempt.attempt_id, operation.outcome === 'scored' ? { outcome: 'scored', reward: 0.5 } : { outcome: operation.outcome });
      return;
    case 'cancel':
      if (attempt) store.cancelRollouts({ rollout_ids: [attempt.rollout_id] });
      return;
    case 'pass':
      clock.time += operation.seconds;
  }
}

describe('store: the state machine, whatever happens in whatever order', () => {
  it('keeps its invariants', () => {
    fc.assert(fc.property(fc.array(operation, { minLength: 10, maxLength: 60, size: 'max' }), (operations) => {
      const clock = { time: 0 };
      const store = openStore(':memory:', { now: () => clock.time });
      const told = new Map<string, RolloutStatus>();
      store.onEvent((event) => { if (event.type === 'rollout') told.set(event.rollout.rollout_id, event.rollout.status); });
      const attempts: Running[] = [];
      let before = new Map<string, AttemptedRollout>();
      for (const each of operations) {
        execute(store, clock, attempts, each);
        const rollouts = store.listRollouts({});
        for (const rollout of rollouts) {
          checkAlone(rollout);
          assert.equal(told.get(rollout.rollout_id), rollout.status);
          const previous = before.get(rollout.rollout_id);
          if (previous) checkStep(previous, rollout);
        }
        before = new Map(rollouts.map((rollout) => [rollout.rollout_id, rollout]));
      }
      store.close();
    }), { numRuns: 60 });
  });
});
