import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attr } from '../../../trainer/protocol/span.ts';
import { bench, fixtures, label, workspace, type Bench } from './harness.ts';

const python = `${fixtures}behaviours.py`;
const typescript = `${fixtures}behaviours.ts`;

describe('what an agent can be', function () {
  this.timeout(60_000);
  let desk: Bench;
  beforeEach(async () => { desk = await bench(); });
  afterEach(() => desk.close());

  const write = (folder: string, name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const rewardOf = async (input: unknown = {}) => {
    const [rollout] = await desk.roll([input]);
    assert.equal(rollout!.attempt!.outcome, 'scored', rollout!.attempt!.error!);
    return rollout!.attempt!.reward;
  };

  describe('in Python', () => {
    it('an async function, whose steps run concurrently and whose leftovers do not outlive it', async () => {
      await desk.runner(`${python}:asynchronous`);
      const rollouts = await desk.roll([{ do: 'x' }, { do: 'raise' }, { do: 'x' }]);
      assert.deepEqual(rollouts.map(({ attempt }) => attempt!.outcome), ['scored', 'agent_error', 'scored']);
      const [root, ...steps] = desk.store.listSpans(rollouts[0]!.rollout_id);
      assert.deepEqual(desk.labels(rollouts[0]!), ['asynchronous', 'later', 'later', 'agentlightning.annotation']);
      for (const step of steps) assert.equal(step.parent_id, root!.span_id);
    });

    it('a plain function that is named; sys.exit is its error', async () => {
      await desk.runner(`${python}:plain`);
      const [fine, exit] = await desk.roll([{ do: 'x' }, { do: 'exit' }]);
      assert.equal(fine!.attempt!.reward, 0.5);
      assert.match(exit!.attempt!.error!, /called sys\.exit\(4\)/);
    });

    it('a function that asks for a prompt template', async () => {
      await desk.runner(`${python}:with_template`, {}, { resources: ['greeting'] });
      const { resources_id } = desk.store.addResources({ greeting: { resource_type: 'prompt_template', template: 'Hi {name}{{}}', engine: 'f-string' } });
      const [rollout] = await desk.roll([{ name: 'you' }], {}, resources_id);
      assert.equal(rollout!.attempt!.reward, 'Hi you{}'.length);
      const [without] = await desk.roll([{ name: 'you' }]);
      assert.match(without!.attempt!.error!, /asks for 'prompt_template', which this run does not provide/);
    });

    it('a class that extends LitAgent, one instance for all attempts', async () => {
      const folder = workspace({ 'agent.py': `
import json
import urllib.request
from agent_trainer import LitAgent

class Solver(LitAgent[dict]):
    def __init__(self):
        self.attempts = 0

    async def rollout_async(self, task, resources, rollout):
        llm = resources["main_llm"]
        body = json.dumps({"model": llm.model, "messages": [{"role": "user", "content": task["question"]}]}).encode()
        urllib.request.urlopen(urllib.request.Request(llm.get_base_url(rollout.rollout_id, rollout.attempt.attempt_id) + "/chat/completions", body, {"Content-Type": "application/json", "Authorization": f"Bearer {llm.api_key}"})).read()
        self.attempts += 1
        return self.attempts
` });
      await desk.runner('agent.py', {}, { workspace: folder });
      const rollouts = await desk.roll([{ question: 'a' }, { question: 'b' }]);
      assert.deepEqual(rollouts.map(({ attempt }) => attempt!.error ?? attempt!.reward), [1, 2]);
      assert.deepEqual(desk.labels(rollouts[0]!), ['Solver', 'chat tiny', 'agentlightning.annotation']);
      const [root] = desk.store.listSpans(rollouts[0]!.rollout_id);
      assert.equal(root!.attributes[attr.codeFile], join(folder, 'agent.py'));
      assert.equal(root!.attributes[attr.codeLine], 10);
    });

    it('a class whose constructor fails is an agent that cannot be loaded', async () => {
      const folder = workspace({ 'agent.py': 'class LitAgent: ...\nclass Broken(LitAgent):\n    def __init__(self, database): ...\n    def rollout(self, task, resources, rollout): ...\n' });
      await assert.rejects(desk.runner('agent.py:Broken', {}, { workspace: folder }), /missing 1 required positional argument: 'database'/);
    });

    it('part of a package, importing its neighbours', async () => {
      const folder = workspace();
      write(folder, 'pack/__init__.py', '');
      write(folder, 'pack/scores.py', 'SCORE = 0.5\n');
      write(folder, 'top.py', 'FACTOR = 2\n');
      write(folder, 'pack/agent.py', 'from agent_trainer import rollout\nfrom .scores import SCORE\nfrom top import FACTOR\n@rollout\ndef a(task):\n    return SCORE * FACTOR\n');
      await desk.runner('pack/agent.py', {}, { workspace: folder });
      assert.equal(await rewardOf(), 1);
    });
  });

  describe('in TypeScript', () => {
    it('a method marked with decorators, on a fresh instance each time', async () => {
      await desk.runner(`${typescript}:Solver`);
      assert.equal(await rewardOf({ x: 1 }), 1.5);
      assert.equal(await rewardOf({ x: 2 }), 2.5);
      const [rollout] = await desk.roll([{}]);
      assert.deepEqual(desk.labels(rollout!), ['Solver', 'half', 'agentlightning.annotation']);
    });

    it('a plain exported function that is named', async () => {
      await desk.runner(`${typescript}:plain`);
      assert.equal(await rewardOf(), 0.5);
    });

    it('a file in any folder: top-level await, import.meta, aliases, .js for .ts, enums, CommonJS packages, its own line numbers', async () => {
      const folder = workspace();
      write(folder, 'tsconfig.base.json', '{ "compilerOptions": { "paths": { "@lib/*": ["./lib/*"] } } }');
      write(folder, 'agents/tsconfig.json', '{\n  // a comment with a "quote"\n  "extends": "../tsconfig.base", /* another */\n  "compilerOptions": { "strict": true, },\n}');
      write(folder, 'lib/half.ts', 'export const half = (x: number): number => x / 2;\n');
      write(folder, 'agents/more.ts', 'export enum More { Two = 2 }\n');
      write(folder, 'node_modules/common/package.json', '{ "name": "common", "main": "main.js" }');
      write(folder, 'node_modules/common/main.js', 'exports.three = 3;\n');
      write(folder, 'agents/agent.ts', [
        `import { rollout } from 'agent-trainer/runtime';`,
        `import { basename } from 'node:path';`,
        `import { half } from '@lib/half';`,
        `import { More } from './more.js';`,
        `import { three } from 'common';`,
        `const one: number = await Promise.resolve(1);`,
        `interface Task { fail?: boolean }`,
        `export const agent = rollout(async (task: Task) => {`,
        `  if (task.fail) throw new Error('here');`,
        `  return half(one) + More.Two + three + basename(import.meta.url).length;`,
        `});`,
      ].join('\n'));
      await desk.runner('agents/agent.ts', {}, { workspace: folder });
      assert.equal(await rewardOf(), 0.5 + 2 + 3 + 'agent.ts'.length);
      const [failed] = await desk.roll([{ fail: true }]);
      assert.equal(failed!.attempt!.error, `Error: here (${folder}/agents/agent.ts:9)`);
      const [root] = desk.store.listSpans(failed!.rollout_id);
      assert.equal(root!.attributes[attr.codeLine], 8);
      assert.ok(existsSync(join(folder, '.agent-trainer/cache')));
    });

    it('plain JavaScript', async () => {
      const folder = workspace({ 'agent.mjs': `import { rollout } from 'agent-trainer/runtime';\nexport const agent = rollout(() => 0.25);\n` });
      await desk.runner('agent.mjs', {}, { workspace: folder });
      assert.equal(await rewardOf(), 0.25);
    });

    it('one that uses the OpenAI SDK: its calls belong to their step, and a gateway that is gone is seen through it', async () => {
      const runner = await desk.runner(`${typescript}:agent`);
      const [rollout] = await desk.roll([{ do: 'call_sdk' }]);
      assert.equal(rollout!.attempt!.reward, 1, rollout!.attempt!.error!);
      const spans = desk.store.listSpans(rollout!.rollout_id);
      const call = spans.find((span) => span.attributes[attr.operationName] === 'chat')!;
      assert.equal(label(spans.find(({ span_id }) => span_id === call.parent_id)!), 'ask');
      await runner.stop();
      await desk.runner(`${typescript}:agent`, {}, { gateway: { url: 'http://127.0.0.1:9', key: 'k' } });
      const [lost] = await desk.roll([{ do: 'call_sdk' }]);
      assert.equal(lost!.attempt!.outcome, 'infra_error', lost!.attempt!.error!);
    });

    it('an error in a promise that nobody awaits ends its attempt and its worker, nothing else', async () => {
      await desk.runner(`${typescript}:agent`);
      const rollouts = await desk.roll([{ do: 'stray' }, { do: 'reward' }]);
      assert.deepEqual(rollouts.map(({ attempt }) => attempt!.outcome), ['agent_error', 'scored']);
      assert.match(rollouts[0]!.attempt!.error!, /nobody awaits this \(.*behaviours\.ts:\d+\)/);
    });
  });
});
