import assert from 'node:assert/strict';
import { OptimizeRequest, OptimizeResult } from '../../../trainer/protocol/optimize.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { startPromptServer, type PromptServer } from '../../../bench/fixtures/prompt-server.ts';
import { worldTasks } from '../../../bench/fixtures/prompt-world.ts';
import { makeWorkspace, type Workspace } from '../runs/workspace.ts';
import { nodeAgent, pythonAgent } from './agents.ts';

describe('searches for prompts', function () {
  this.timeout(170_000); // each candidate starts worker processes

  let workspace: Workspace;
  let trainer: Trainer;
  let model: PromptServer;

  beforeEach(async () => {
    model = await startPromptServer();
    workspace = makeWorkspace({ 'agent.py': pythonAgent, 'agent.ts': nodeAgent, 'tasks.jsonl': worldTasks('w', 60).map(({ input }) => input), 'agent-trainer.json': { agent: 'agent.py', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'agent' }, runner: { n_runners: 2 } } });
    trainer = await openTrainer({ workspace: workspace.folder });
  });
  afterEach(async () => {
    await trainer.close();
    await model.close();
    workspace.remove();
  });

  for (const agent of ['agent.py', 'agent.ts']) {
    it(`finds better prompts for ${agent}, with rollouts under its texts`, async () => {
      const prompts = trainer.runs.prompts(agent);
      assert.equal(prompts.length, 1);
      const { run_id } = trainer.runs.start({ kind: 'optimize', agent, data: 'tasks.jsonl', seed: 1, optimize: OptimizeRequest.parse({ budget: { rollouts: 150 }, optimizer: { kind: 'endpoint', url: model.url, name: 'optimizer' } }) });
      const run = await trainer.runs.wait(run_id);
      assert.equal(run.status, 'succeeded', run.error ?? '');
      const result = OptimizeResult.parse(run.result);
      console.log(JSON.stringify(result));
      const search = trainer.runs.searches.get(run_id);
      console.log(search.candidates.map((c) => [c.candidate_id, c.parents, c.status, c.validation, c.minibatch, c.rejection?.rule, c.cost.seconds.toFixed(1), c.texts[prompts[0]!.prompt_id]]));
    });
  }
});
