import assert from 'node:assert/strict';
import path from 'node:path';
import { openTrainer } from '../../../trainer/server/trainer.ts';
import type { Trainer } from '../../../trainer/server/trainer.ts';
import { refuse, say, startOpenAIServer } from '../../fixtures/openai-server.ts';
import type { OpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace } from '../runs/workspace.ts';
import type { Workspace } from '../runs/workspace.ts';
import { Client } from '../server/client.ts';

const python = `import json
import urllib.request
from agent_trainer import emit_reward, operation, rollout

@rollout
def agent(task, llm):
    with operation("answer"):
        body = json.dumps({"model": llm.model, "messages": [{"role": "user", "content": task["question"]}]}).encode()
        request = urllib.request.Request(llm.endpoint + "/chat/completions", body, {"content-type": "application/json", "authorization": "Bearer " + llm.api_key})
        text = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    emit_reward(len(text) / 10)
`;
const script = `import { emitReward, operation, rollout } from 'agent-trainer/runtime';

const ask = operation('answer', async (llm: { endpoint: string; api_key: string; model: string }, question: string): Promise<string> => {
  const response = await fetch(llm.endpoint + '/chat/completions', {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + llm.api_key },
    body: JSON.stringify({ model: llm.model, messages: [{ role: 'user', content: question }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as any).choices[0].message.content;
});

export const agent = rollout(async (task: { question: string }, { llm }) => {
  const text = await ask(llm, task.question);
  emitReward(text.length / 10);
  return text.length / 20;
});
`;

describe('annotations', () => {
  let workspace: Workspace;
  let trainer: Trainer;
  let server: OpenAIServer;
  let client: Client;

  beforeEach(async () => {
    workspace = makeWorkspace({ 'agent.py': python, 'agent.ts': script, 'tasks.jsonl': letterTasks(6) });
    server = await startOpenAIServer(say('Hello'));
    await open();
  });
  afterEach(async () => {
    await close();
    await server.close();
    workspace.remove();
  });
  const open = async (): Promise<void> => {
    trainer = await openTrainer({ workspace: workspace.folder });
    client = await Client.connect(trainer);
  };
  const close = async (): Promise<void> => {
    await client.close();
    await trainer.close();
  };
  const dryRun = async (agent: string, limit: number): Promise<string> => {
    const { run_id } = trainer.runs.start({ kind: 'dev', agent, data: 'tasks.jsonl', limit, policy: server.url });
    await trainer.runs.wait(run_id);
    return run_id;
  };
  const lineOf = (source: string, text: string): number => source.slice(0, source.indexOf(text)).split('\n').length;

  it('there are none before the first run', async () => {
    assert.deepEqual(await client.call('annotations.get', {}), { agents: [], reward_lines: [], failed_lines: [] });
  });

  for (const [file, source, emit, final] of [['agent.py', python, 'emit_reward(len', 0.5], ['agent.ts', script, 'emitReward(text', 0.25]] as const) {
    it(`an agent in ${file}: rewards, tokens, durations, and the line that emits; the same after a restart`, async () => {
      const run_id = await dryRun(`${file}:agent`, 3);
      const annotations = await client.call('annotations.get', {});
      const [agent] = annotations.agents;
      assert.deepEqual({ ...agent, last: agent?.last.run_id, p95_s: (agent?.p95_s ?? 0) > 0 }, {
        agent: `${file}:agent`, rollouts: 3, last: run_id, rewards: [final, final, final], without_reward: 0, p95_s: true, input_tokens: 5, output_tokens: 2,
      });
      assert.deepEqual(annotations.reward_lines, [{ file: path.join(workspace.folder, file), line: lineOf(source, emit), agent: `${file}:agent`, rewards: [0.5, 0.5, 0.5] }]);
      assert.deepEqual(annotations.failed_lines, []);
      await close();
      await open();
      assert.deepEqual(await client.call('annotations.get', {}), annotations);
    });
  }

  it('failed calls mark the line of their operation, until a run goes well', async () => {
    server.next(refuse(400, 'No such thing.'));
    const run_id = await dryRun('agent.ts:agent', 2);
    const { agents: [agent], failed_lines: [line] } = await client.call('annotations.get', {});
    assert.equal(agent?.without_reward, 1);
    assert.deepEqual({ ...line, rollout_id: '' }, { file: path.join(workspace.folder, 'agent.ts'), line: lineOf(script, 'const ask'), agent: 'agent.ts:agent', calls: 2, failed: 1, message: 'No such thing.', run_id, rollout_id: '' });
    await dryRun('agent.ts:agent', 1);
    assert.deepEqual((await client.call('annotations.get', {})).failed_lines, []);
  });

  it('each agent has its own, over all its runs', async () => {
    await dryRun('agent.ts:agent', 1);
    await dryRun('agent.ts:agent', 2);
    await dryRun('agent.py:agent', 1);
    const { agents } = await client.call('annotations.get', {});
    assert.deepEqual(agents.map(({ agent, rollouts }) => [agent, rollouts]), [['agent.py:agent', 1], ['agent.ts:agent', 3]]);
  });
});
