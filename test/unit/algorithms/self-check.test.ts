import assert from 'node:assert/strict';
import { describeSelfCheck, selfCheck } from '../../../trainer/algorithms/self-check.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { workOff, type ScriptedCall, type ScriptedEnd } from './scripted-agents.ts';

const call = (agent?: string): ScriptedCall => ({ agent, prompt: [1], response: [2] });
const tools = JSON.stringify([{ type: 'function', function: { name: 'run_sql' } }]);

describe('self-check', () => {
  let store: Store;
  beforeEach(() => { store = openStore(':memory:'); });
  afterEach(() => store.close());

  const check = (end: ScriptedEnd, agent_match?: string) => {
    workOff(store, () => end);
    return selfCheck({ store, run_id: 'ru-1', backend: 'b', limits: { timeout_seconds: 5, max_attempts: 1 }, signal: new AbortController().signal },
      { id: 't', input: { question: 1 }, line: 1 }, { sampling: { temperature: 1 }, seed: 1, agent_match });
  };
  const refused = (end: ScriptedEnd, message: RegExp, agent_match?: string) =>
    assert.rejects(check(end, agent_match), (error) => error instanceof TrainerError && error.code === 'agent' && message.test(error.message) && error.message.includes(store.listRollouts({})[0]!.rollout_id));

  it('reports what arrived, and records the rollout as its own', async () => {
    const report = await check({ outcome: 'scored', reward: 0.5, calls: [call('write'), { ...call('check'), attributes: { [attr.toolDefinitions]: tools } }] }, 'write');
    assert.deepEqual(report, { calls: 2, trainable: 1, agents: ['write', 'check'], tools: 1, reward: 0.5 });
    assert.equal(describeSelfCheck(report), 'Self-check: 2 LLM calls by write, check, 1 trainable with token ids and log-probabilities, 1 tool offered, reward 0.5.');
    const [rollout] = store.listRollouts({ run_id: 'ru-1' });
    assert.deepEqual(rollout?.metadata, { self_check: true });
    assert.equal(rollout?.mode, null);
    assert.equal(rollout?.config.backend, 'b');
  });

  it('a reward of 0 is a reward', async () => {
    assert.equal((await check({ outcome: 'scored', reward: 0, calls: [call()] })).reward, 0);
  });

  it('names the first thing that is missing', async () => {
    await refused({ outcome: 'agent_error', error: 'ValueError: no table (agent.py:12)', calls: [] }, /ended as agent_error: ValueError: no table \(agent.py:12\)/);
  });
  it('no LLM call', () => refused({ outcome: 'scored', reward: 1, calls: [] }, /made no LLM call through the trainer.*llm\.endpoint/));
  it('only failed calls', () => refused({ outcome: 'scored', reward: 1, calls: [{ ...call(), failed: 'quota exceeded' }] }, /made 1 LLM call and it failed with: quota exceeded/));
  it('no token ids', () => refused({ outcome: 'scored', reward: 1, calls: [{ ...call(), attributes: { [attr.promptTokenIds]: '', [attr.responseTokenIds]: '' } }] }, /no token ids/));
  it('no log-probabilities', () => refused({ outcome: 'scored', reward: 1, calls: [{ ...call(), attributes: { [attr.responseLogprobs]: '' } }] }, /no log-probabilities/));
  it('nothing trainable', () => refused({ outcome: 'scored', reward: 1, calls: [{ ...call(), attributes: { [attr.requestTopP]: 0.5 } }] }, /none can be trained: truncated sampling distribution \(1\)/));
  it('agent_match without a match lists the agents seen', () => refused({ outcome: 'scored', reward: 1, calls: [call('plan'), call('check'), call('plan')] }, /"write\|fix" selects. The agents seen: plan, check\./, 'write|fix'));
  it('agent_match without any operation', () => refused({ outcome: 'scored', reward: 1, calls: [call()] }, /The agents seen: \(calls outside any operation\)/, 'write'));
  it('no reward', () => refused({ outcome: 'unscored', calls: [call()] }, /brought no reward/));
});
