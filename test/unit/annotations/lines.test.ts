import assert from 'node:assert/strict';
import { lineMarks } from '../../../src/annotations/line-marks.ts';
import { rewardPlaces } from '../../../src/annotations/reward-lines.ts';

const python = `from agent_trainer import emit_reward, rollout
import agent_trainer

@rollout
def agent(task, llm):
    def inner():
        return helper(1)
    if task:
        emit_reward(0.5)  # emit_reward(1)
    agent_trainer.emit_reward({"a": 1})
    return float(score(inner(), max(1, 2)))

def score(a, b):
    return a

def helper(x):
    return "emit_reward(2)"
`;
const script = `import { emitReward, rollout } from 'agent-trainer/runtime';

const grade = (text: string): number => text.length;

export const first = rollout(async (task: string) => {
  const other = () => unrelated();
  emitReward(1);
  return await grade(task);
});

export const second = rollout(async (task: string) => grade(task));

function unrelated(): number { return 1; }
`;

describe('lines that yield rewards', () => {
  it('Python: emitters by any import, and the functions that the agent itself returns', () => {
    const { emits, functions } = rewardPlaces('agent.py', python);
    assert.deepEqual([...emits], [8, 9]);
    assert.deepEqual([...functions], [['agent', [12]]]);
  });

  it('TypeScript: emitters, and functions behind return and behind an arrow', () => {
    const { emits, functions } = rewardPlaces('agent.ts', script);
    assert.deepEqual([...emits], [6]);
    assert.deepEqual([...functions], [['first', [2]], ['second', [2]]]);
  });

  it('a source in the middle of an edit is read as far as it goes', () => {
    const { emits } = rewardPlaces('agent.py', python.replace('    return float(score(inner(), max(1, 2)))', '    return score(inner('));
    assert.ok(emits.has(8));
    assert.deepEqual(rewardPlaces('notes.py', 'x = 1'), { emits: new Set(), functions: new Map() });
  });

  it('a line that emits no reward any more gets no mark; a reward function gets what its agent returned', () => {
    const last = { rollout_id: 'ro-1', run_id: 'ru-1', outcome: 'scored', reward: 1, end_time: 1 } as const;
    const failed = { agent: 'agent.py:agent', calls: 2, failed: 1, message: 'no', run_id: 'ru-1', rollout_id: 'ro-1' };
    const marks = lineMarks({
      agents: [{ agent: 'agent.py:agent', rollouts: 2, last, rewards: [0, 1], without_reward: 0, p95_s: 1, input_tokens: null, output_tokens: null }],
      reward_lines: [
        { file: '/w/agent.py', line: 9, agent: 'agent.py:agent', rewards: [0.5, 0.5] },
        { file: '/w/agent.py', line: 3, agent: 'agent.py:agent', rewards: [7] },
        { file: '/w/other.py', line: 10, agent: 'other.py:agent', rewards: [8] },
      ],
      failed_lines: [{ ...failed, file: '/w/agent.py', line: 5 }, { ...failed, file: '/w/agent.py', line: 500 }, { ...failed, file: '/w/other.py', line: 5 }],
    }, '/w/agent.py', python.split('\n').length, rewardPlaces('agent.py', python), (agent) => `agent.py:${agent}`);
    assert.deepEqual(marks.rewards, [{ line: 8, rewards: [0.5, 0.5] }, { line: 12, rewards: [0, 1] }]);
    assert.deepEqual(marks.failures.map(({ at }) => at), [4]);
  });
});
