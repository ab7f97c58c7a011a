import assert from 'node:assert/strict';
import type { Uri } from 'vscode';
import { agentsTree } from '../../../src/agents/agents-tree.ts';
import { detect } from '../../../src/agents/detect.ts';
import type { WorkspaceAgent } from '../../../src/agents/find-agents.ts';
import { lastReward } from '../../../src/runs/last-reward.ts';
import { aRun, aStep } from '../../fixtures/recorded-runs.ts';

const t = (text: string, ...values: (string | number)[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
const inFile = (path: string, text: string): WorkspaceAgent[] => detect(path, text).map((agent) => ({ ...agent, file: { fsPath: `/w/${path}` } as Uri }));

describe('the Agents view', () => {
  it('lists agents by folder with framework, last reward and reason', () => {
    const agents = [
      ...inFile('bots/solver.py', 'from agent_trainer import rollout\nfrom openai import OpenAI\n\n@rollout\ndef solve(task, llm):\n    return OpenAI().responses.create(input=task)\n'),
      ...inFile('bots/web/ask.ts', "import { generateText } from 'ai';\nexport default async function (q: string) {\n  return generateText({ prompt: q });\n}\n"),
      ...inFile('main.py', 'import litellm\ndef ask(q): return litellm.completion(model="m")\n'),
    ];
    const tree = agentsTree(agents, { t, relative: (file) => file.fsPath.slice(3), rootLabel: () => 'w', lastReward: (agent) => (agent.name === 'solve' ? 0.6249 : null) });
    const text = tree.map((folder) => `${folder.label}\n${folder.agents.map((node) => `  ${node.icon} ${node.label} | ${node.description} | line ${node.line} | ${node.contextValue}\n    ${node.tooltip.replaceAll('\n', '\n    ')}\n`).join('')}`).join('');
    assert.equal(text, `bots
  rocket solve | OpenAI · reward 0.62 · solver.py | line 4 | agent.wrapped
    solve can be run and trained: decorated with @rollout at line 5
    Framework: OpenAI
    Mean reward of the last run: 0.625
bots/web
  circle-outline default export | Vercel AI SDK · ask.ts | line 1 | agent.candidate
    default export may be an agent: calls generateText at line 3
    Framework: Vercel AI SDK
    Make it trainable to run and train it.
w
  circle-outline ask | LiteLLM · main.py | line 1 | agent.candidate
    ask may be an agent: calls litellm.completion at line 2
    Framework: LiteLLM
    Make it trainable to run and train it.
`);
  });

  it('takes the last reward from the result of a run, else from its latest scored step', () => {
    assert.equal(lastReward(aRun('dev', { result: { run_id: 'r', rollouts: [], mean_reward: 0.5 } }), []), 0.5);
    assert.equal(lastReward(aRun('eval', { result: { policy: { mean_reward: 0.25, n: 4 } } }), []), 0.25);
    assert.equal(lastReward(aRun('train', { result: { before: { mean_reward: 0.1, n: 4 }, after: { mean_reward: 0.75, n: 4 } } }), []), 0.75);
    assert.equal(lastReward(aRun('train', { result: null }), [aStep(0, { reward_mean: 0.125 }), aStep(1, { reward_mean: null })]), 0.125);
    assert.equal(lastReward(aRun('train', { result: null }), []), null);
    assert.equal(lastReward(aRun('dev', { result: { mean_reward: null } }), []), null);
  });
});
