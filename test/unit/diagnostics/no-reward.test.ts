import assert from 'node:assert/strict';
import { check, fixed, marked, python, script } from './support.ts';

describe('diagnostic: an agent that never yields a reward', () => {
  it('is found where nothing is returned or emitted', async () => {
    for (const [file, text] of [['a.py', python('print(task)')], ['a.py', python('return')], ['a.py', python('def inner():\n    return 1\ninner()')], ['a.ts', script('console.log(task);')]] as const) {
      assert.deepEqual(await marked('no-reward', file, text), ['agent'], text);
    }
  });

  it('is found where a text or a collection is returned', async () => {
    assert.deepEqual(await marked('no-reward', 'a.py', python('return reply.choices[0].message.content')), ['reply.choices[0].message.content']);
    assert.deepEqual(await marked('no-reward', 'a.ts', script('return { score: 1 };')), ['{ score: 1 }']);
    assert.deepEqual(await marked('no-reward', 'a.ts', "import { rollout } from 'agent-trainer/runtime';\nexport const agent = rollout(async (task) => `${task}`);\n"), ['`${task}`']);
  });

  it('a reward may have a reason; the reward itself is still looked at', async () => {
    for (const [file, text] of [['a.py', python('return score(task), "why"')], ['a.py', python('return (score(task), "why")')], ['a.py', python('return {"reward": score(task), "reason": why}')], ['a.ts', script('return { reward: score(task), reason };')]] as const) {
      assert.deepEqual(await marked('no-reward', file, text), [], text);
    }
    assert.deepEqual(await marked('no-reward', 'a.py', python('return (reply == task, "why")')), ['reply == task']);
    assert.deepEqual(await marked('no-reward', 'a.ts', "import { rollout } from 'agent-trainer/runtime';\nexport const agent = rollout((task) => ({ reward: task === 1, reason: 'why' }));\n"), ['task === 1']);
  });

  it('true or false is made a number', async () => {
    assert.equal(await fixed('no-reward', 'a.py', python('return task["answer"] in reply')), python('return float(task["answer"] in reply)'));
    assert.equal(await fixed('no-reward', 'a.ts', script('return reply === task.answer;')), script('return Number(reply === task.answer);'));
  });

  it('a number, an emitted reward, or one emitted by what it calls is fine', async () => {
    for (const text of [python('return score(task)'), python('emit_reward(1.0)'), `${python('grade(task)')}\ndef grade(task):\n    emit_reward(1.0)\n`, python('raise NotImplementedError')]) {
      assert.deepEqual((await check('a.py', text)).findings.filter(({ rule }) => rule === 'no-reward'), [], text);
    }
  });
});
