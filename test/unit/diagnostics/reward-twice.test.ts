import assert from 'node:assert/strict';
import { check, fixed, marked, python, script } from './support.ts';

describe('diagnostic: a reward both returned and emitted', () => {
  it('is found and mended in Python', async () => {
    const text = python('reward = score(task)\nemit_reward(reward)\nreturn reward');
    assert.deepEqual(await marked('reward-twice', 'a.py', text), ['emit_reward(reward)']);
    assert.equal(await fixed('reward-twice', 'a.py', text), python('reward = score(task)\nreturn reward'));
  });

  it('is found and mended in TypeScript, with the comment of another line kept', async () => {
    const text = script('const reward = score(task);\n// report\nemitReward(reward);\nreturn reward;');
    assert.equal(await fixed('reward-twice', 'a.ts', text), script('const reward = score(task);\n// report\nreturn reward;'));
  });

  it('the only statement of a Python block becomes pass', async () => {
    assert.equal(await fixed('reward-twice', 'a.py', python('if ok(task):\n    emit_reward(1.0)\nreturn 1.0')), python('if ok(task):\n    pass\nreturn 1.0'));
  });

  it('another value beside the returned one is told as an information', async () => {
    const { findings } = await check('a.py', python('emit_reward({"style": 0.5})\nreturn score(task)'));
    assert.deepEqual(findings.map(({ rule, severity }) => [rule, severity]), [['reward-twice', 'information']]);
  });

  it('one of the two is fine', async () => {
    assert.deepEqual(await marked('reward-twice', 'a.py', python('emit_reward(1.0)\nreturn None')), []);
    assert.deepEqual(await marked('reward-twice', 'a.py', python('return 1.0')), []);
  });
});
