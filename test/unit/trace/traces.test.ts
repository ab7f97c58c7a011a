import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { attr, spanNames, type Attributes } from '../../../trainer/protocol/span.ts';
import { Traces } from '../../../trainer/runs/traces.ts';
import type { Store } from '../../../trainer/store/store.ts';
import { spanOf, storeWithClock, take, trainerError, type Running } from '../store/support.ts';

const sample = join(import.meta.dirname, '..', '..', '..', 'examples', 'sql-agent');
const run_id = 'ru-1';

describe('credit and tokens of recorded rollouts', () => {
  let workspace = '';
  let store: Store;
  let traces: Traces;

  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'agent-trainer-traces-'));
    store = storeWithClock().store;
    traces = new Traces({ store, workspace });
    store.createRun({ run_id, kind: 'train', status: 'running', phase: 'training', agent: 'a.ts', config: { model: { path: 'policy' }, origin: { folder: sample, fingerprint: null }, grpo: { agent_match: 'write' } }, create_time: 1, end_time: null, error: null, result: null });
  });
  afterEach(() => {
    store.close();
    rmSync(workspace, { recursive: true, force: true });
  });

  /** A finished rollout of task t: one call of agent `write`, one of `check`, and a reward. */
  function rolledOut(reward: number, tokens: Attributes = {}): Running {
    store.enqueueRollouts([{ run_id, input: 'x', task_id: 't', step: 0, mode: 'train' }]);
    const rollout = take(store);
    const trainable = { [attr.operationName]: 'chat', [attr.promptTokenIds]: [1, 2], [attr.responseTokenIds]: [3], [attr.responseLogprobs]: [-0.5], [attr.requestTemperature]: 1, ...tokens };
    const id = (suffix: string) => `${rollout.rollout_id}-${suffix}`;
    store.addSpans([
      spanOf(rollout, { span_id: id('write'), sequence_id: 1, start_time: 1, attributes: { ...trainable, [attr.agentName]: 'write', [attr.callIndex]: 0 } }),
      spanOf(rollout, { span_id: id('check'), sequence_id: 2, start_time: 2, attributes: { ...trainable, [attr.agentName]: 'check', [attr.callIndex]: 1 } }),
      spanOf(rollout, { span_id: id('reward'), sequence_id: 3, start_time: 3, name: spanNames.reward, attributes: { [attr.rewardName]: 'final', [attr.rewardValue]: reward } }),
    ]);
    store.finishAttempt(rollout.rollout_id, rollout.attempt.attempt_id, { outcome: 'scored', reward });
    return rollout;
  }
  const rounded = (value: number | null | undefined): number | null => (value == null ? null : Number(value.toFixed(3)));

  it('compares a rollout with its group, as training does, and leaves out calls that do not train', () => {
    const good = rolledOut(1);
    rolledOut(0);
    const credit = traces.credit(good.rollout_id);
    assert.deepEqual(credit.calls.map((call) => [call.credit, rounded(call.advantage)]), [[1, 0.707], [1, null]]); // agent_match: write
    assert.deepEqual([credit.group, credit.reason], [2, null]);
  });

  it('keeps a changed rule and link, and computes anew without a rollout', () => {
    const good = rolledOut(1);
    const bad = rolledOut(0);
    const rollouts = store.listRollouts({ run_id }).length;
    const reward = `${good.rollout_id}-reward`;
    assert.deepEqual(traces.setCredit(good.rollout_id, { rule: { kind: 'per_step' } }).calls.map((call) => call.credit), [null, 1]);
    assert.deepEqual(traces.setCredit(good.rollout_id, { links: { [reward]: [`${good.rollout_id}-write`] } }).calls.map((call) => call.credit), [1, null]);
    const again = new Traces({ store, workspace }).credit(good.rollout_id);
    assert.deepEqual([again.settings.rule.kind, again.rewards[0]?.linked, rounded(again.calls[0]?.advantage)], ['per_step', 'hand', 0.707]);
    assert.deepEqual(traces.credit(bad.rollout_id).calls.map((call) => call.credit), [null, 0]);
    assert.deepEqual(traces.setCredit(good.rollout_id, { links: { [reward]: null } }).calls.map((call) => call.credit), [null, 1]);
    assert.equal(store.listRollouts({ run_id }).length, rollouts);
    const file = join(workspace, '.agent-trainer', 'runs', run_id, 'credit.json');
    assert.ok(existsSync(file) && !readFileSync(file, 'utf8').includes(reward));
  });

  it('says why there is no advantage', () => {
    const alone = rolledOut(1);
    assert.match(traces.credit(alone.rollout_id).reason ?? '', /no other scored rollout/);
    rolledOut(1);
    assert.match(traces.credit(alone.rollout_id).reason ?? '', /same reward/);
  });

  it("gives the text of a call's tokens by the policy's own tokenizer, with what training does to each", async () => {
    const tokenizer = await openTokenizer(join(sample, 'policy'));
    const [prompt, response] = [tokenizer.encode('user\nÄpfel?'), tokenizer.encode('SELECT 1')];
    const good = rolledOut(1, { [attr.promptTokenIds]: prompt, [attr.responseTokenIds]: response, [attr.responseLogprobs]: response.map(() => -0.25) });
    rolledOut(0);
    const tokens = await traces.tokens(good.rollout_id, `${good.rollout_id}-write`);
    assert.equal(tokens.response.map(({ text }) => text).join(''), 'SELECT 1');
    assert.ok(tokens.prompt.join('').startsWith('user\n'));
    assert.deepEqual([tokens.response.length, tokens.response[0]?.logprob, rounded(tokens.response[0]?.advantage), tokens.reason], [response.length, -0.25, 0.707, null]);
    const untrained = await traces.tokens(good.rollout_id, `${good.rollout_id}-check`);
    assert.equal(untrained.response[0]?.advantage, null);
    assert.match(untrained.reason ?? '', /not trained/);
  });

  it('says why a call has no tokens to show', async () => {
    const rollout = rolledOut(1, { [attr.responseTokenIds]: 'none' });
    await assert.rejects(traces.tokens(rollout.rollout_id, `${rollout.rollout_id}-write`), trainerError('not_found', /no token ids/));
    await assert.rejects(traces.tokens(rollout.rollout_id, 'zzz'), trainerError('not_found', /no LLM call zzz/));
    await assert.rejects(traces.tokens('ro-none', 'zzz'), trainerError('not_found', /no rollout/));
  });
});
