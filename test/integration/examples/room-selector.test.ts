import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rewardReason } from '../../../trainer/adapter/rewards.ts';
import { DevResult } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { startOpenAIServer, type OpenAIServer } from '../../fixtures/openai-server.ts';
import { hints, roomModel } from '../../fixtures/room-model.ts';
import { makeWorkspace, type Workspace } from '../runs/workspace.ts';

const source = fileURLToPath(new URL('../../../examples/room-selector/', import.meta.url));

/** What a well-tuned prompt would add. */
const rules = hints.map(({ sentence }) => sentence).join(' ');

describe('the two room selectors', function () {
  this.timeout(60_000);
  let workspace: Workspace;
  let trainer: Trainer;
  let model: OpenAIServer;

  beforeEach(async () => {
    model = await startOpenAIServer(roomModel());
    workspace = makeWorkspace();
    cpSync(source, workspace.folder, { recursive: true });
    trainer = await openTrainer({ workspace: workspace.folder });
  });
  afterEach(async () => {
    await trainer.close();
    await model.close();
    workspace.remove();
  });

  async function dryRun(agent: string) {
    const run = await trainer.runs.wait(trainer.runs.start({ kind: 'dev', agent, data: 'data/tasks.jsonl', limit: 30, policy: model.url }).run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    const { mean_reward, rollouts } = DevResult.parse(run.result);
    return { mean_reward, results: rollouts.map(({ rollout_id, status, reward, error }) => ({ status, reward, error, reason: rewardReason(trainer.store.listSpans(rollout_id)) })) };
  }

  it('say and score the same, with the same reasons', async () => {
    const answers = () => model.requests.splice(0).filter(({ path }) => path.endsWith('/chat/completions')).map(({ body }) => withoutSeed(JSON.stringify(body))).sort();
    const inPython = await dryRun('agent.py');
    const asked = answers();
    const inTypeScript = await dryRun('agent.ts');
    assert.deepEqual(inTypeScript, inPython);
    assert.deepEqual(answers(), asked);
    assert.equal(asked.length, 60, 'a call of the tool and an answer for each task');
    assert.ok(asked.every((body) => !body.includes('expected')));
  });

  for (const agent of ['agent.py', 'agent.ts']) {
    it(`${agent}: the bare prompt earns little and hears why; one with the rules earns everything`, async () => {
      const bare = await dryRun(agent);
      assert.ok(bare.mean_reward !== null && bare.mean_reward < 0.3, String(bare.mean_reward));
      for (const { status, reward, reason } of bare.results) assert.ok(status === 'scored' && (reward === 1) === (reason === 'Right.'), JSON.stringify({ status, reward, reason }));
      const file = path.join(workspace.folder, agent);
      const text = readFileSync(file, 'utf8');
      const end = /(Needs: \$?\{needs\}\.)/;
      assert.match(text, end);
      writeFileSync(file, text.replace(end, `$1 ${rules}`));
      const tuned = await dryRun(agent);
      assert.equal(tuned.mean_reward, 1, JSON.stringify(tuned.results.filter(({ reward }) => reward !== 1)));
    });
  }
});

function withoutSeed(body: string): string {
  return body.replace(/"seed":-?\d+/, '"seed":0');
}
