/**
 * How well and how fast prompts are found.
 *
 *   npm run -s bench -- prompts [--json] [--seeds 10] [--budget 1000] [--peer]
 *
 * The agent and the optimiser are a scripted OpenAI-compatible server (bench/fixtures/prompt-world.ts), so the expected reward of every
 * prompt is known exactly, and with it the best that can be reached. Per algorithm, over the seeds: `of_optimum`, the true expected reward
 * of the chosen prompt as a share of the best, on average; `lowest`, of the worst seed; `rollouts`, how many it took on average until the best so far (what a
 * search that is stopped there returns) was truly worth 95 %, the whole budget where it never was; `reached`, on how many seeds it was.
 * `random_edits` is GEPA with an optimiser that looks at nothing: what selection alone would find. Every seed has its own tasks: 40 to
 * learn from, 20 to select with. `--peer` drives the published `gepa` (PyPI, installed into the user's cache) on the same tasks, seeds,
 * budget and server, one process a seed; its own defaults, and so are ours but for APO's rounds, which go on as long as the budget does.
 */
import { parseArgs } from 'node:util';
import { deriveSeed } from '../trainer/algorithms/seeds.ts';
import type { Task } from '../trainer/datasets/tasks.ts';
import { Lab, type Evaluator } from '../trainer/optimize/lab.ts';
import { Meter } from '../trainer/optimize/meter.ts';
import { Proposer } from '../trainer/optimize/proposer.ts';
import { reserveFor, selectWinner } from '../trainer/optimize/report.ts';
import { search } from '../trainer/optimize/search.ts';
import { checkText } from '../trainer/prompts/check-text.ts';
import { ApoConfig, GepaConfig, type OptimizeAlgorithm } from '../trainer/protocol/optimize.ts';
import type { Prompt } from '../trainer/protocol/prompts.ts';
import { startPromptServer, type PromptServer } from './fixtures/prompt-server.ts';
import { bare, optimum, trueScore, worldTasks } from './fixtures/prompt-world.ts';
import { installPeer, runPeer } from './peers/gepa.ts';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, peer: { type: 'boolean', default: false }, seeds: { type: 'string', default: '10' }, budget: { type: 'string', default: '1000' } } });
const budget = Number(values.budget);
const seeds = Array.from({ length: Number(values.seeds) }, (_, seed) => seed);
const enough = 0.95 * optimum;
const prompt: Prompt = { prompt_id: 'system', name: 'system', file: 'agent.py', syntax: 'python-string', engine: 'format', from: 0, to: 0, line: 1, text: bare, variables: [{ name: 'request', placeholder: '{request}' }], agents: [] };

/** `first`: rollouts after which the best so far was worth 95 % for the first time. */
interface Outcome { score: number; first: number | null; spent: number }

const partsOf = (seed: number): { train: Task[]; validation: Task[] } => ({ train: worldTasks(`t${seed}-`, 40), validation: worldTasks(`v${seed}-`, 20) });

async function ours(algorithm: OptimizeAlgorithm, seed: number, server: PromptServer): Promise<Outcome> {
  const parts = partsOf(seed);
  let first: number | null = null;
  const meter = new Meter({ budget: { rollouts: budget }, reserve: reserveFor({ ...parts, test: [] }, budget) });
  const lab: Lab = new Lab({
    prompts: [prompt], ...parts, seed, meter, evaluator: overHttp(server, seed), signal: new AbortController().signal,
    changed: () => { if (first === null && trueScore(lab.best().texts['system']!) >= enough) first = meter.spent.rollouts; },
  });
  const proposer = new Proposer(lab, {
    ask: async (messages, at) => ({ text: await chat(server, 'optimizer', messages, at), input_tokens: 0, output_tokens: 0 }),
    check: (of, texts) => checkText(of, texts[of.prompt_id]!), limit: 4000,
  });
  await search(algorithm, lab, proposer, { apo: ApoConfig.parse({ beam_rounds: 100 }), gepa: GepaConfig.parse({}) });
  const winner = await selectWinner(lab);
  return { score: trueScore(winner.texts['system']!), first, spent: meter.spent.rollouts };
}

async function peer(seed: number, server: PromptServer): Promise<Outcome> {
  const seeded = (tasks: Task[]) => tasks.map(({ id, input }) => ({ input, seed: seedOf(seed, id, 0) }));
  const { train, validation } = partsOf(seed);
  const { prompts, scores, found_after, rollouts } = await runPeer({ url: server.url, prompt: bare, seed, budget, train: seeded(train), validation: seeded(validation) });
  const bestOf = (count: number) => prompts[scores.slice(0, count).reduce((best, score, i) => (score > scores[best]! ? i : best), 0)]!;
  const first = found_after.find((_, i) => trueScore(bestOf(i + 1)) >= enough) ?? null;
  return { score: trueScore(bestOf(prompts.length)), first, spent: rollouts };
}

function overHttp(server: PromptServer, seed: number): Evaluator {
  const told = new Map<string, string>();
  return {
    recall: () => null,
    run: ({ texts, replicate }, tasks) => Promise.all(tasks.map(async (task) => {
      const said = JSON.parse(await chat(server, 'agent', [{ role: 'system', content: texts['system']! }, { role: 'user', content: JSON.stringify(task.input) }], seedOf(seed, task.id, replicate))) as { reward: number; reason: string };
      const rollout_id = `rollout-${told.size}`;
      told.set(rollout_id, `Task: ${JSON.stringify(task.input)}`);
      return { task_id: task.id, ...said, outcome: 'scored' as const, rollout_id, cached: false, input_tokens: 0, output_tokens: 0 };
    })),
    transcript: (rollout_id) => told.get(rollout_id) ?? '',
  };
}

function seedOf(seed: number, task: string, replicate: number): number {
  return deriveSeed(seed, task, replicate);
}

async function chat(server: PromptServer, model: string, messages: unknown[], seed: number): Promise<string> {
  const response = await fetch(`${server.url}/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model, messages, seed }) });
  return ((await response.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content;
}

async function over(run: (seed: number, server: PromptServer) => Promise<Outcome>, options: { random?: boolean } = {}) {
  const server = await startPromptServer(options);
  try {
    const outcomes: Outcome[] = [];
    for (const seed of seeds) outcomes.push(await run(seed, server));
    const mean = (of: (outcome: Outcome) => number) => outcomes.reduce((sum, outcome) => sum + of(outcome), 0) / outcomes.length;
    return {
      of_optimum: round(mean(({ score }) => score / optimum)), rollouts: Math.round(mean(({ first }) => first ?? budget)),
      lowest: round(Math.min(...outcomes.map(({ score }) => score / optimum))), reached: outcomes.filter(({ first }) => first !== null).length, spent: Math.round(mean(({ spent }) => spent)),
    };
  } finally {
    await server.close();
  }
}

const result = {
  apo: await over((seed, server) => ours('apo', seed, server)),
  gepa: await over((seed, server) => ours('gepa', seed, server)),
  random_edits: await over((seed, server) => ours('gepa', seed, server), { random: true }),
  ...(values.peer ? { published_gepa: (installPeer(), await over(peer)) } : {}),
  source: round(trueScore(bare) / optimum), optimum: round(optimum), seeds: seeds.length, budget,
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(`${seeds.length} seeds, at most ${budget} rollouts each; the prompt to begin with is worth ${result.source} of the best`);
  for (const [name, each] of Object.entries(result)) {
    if (typeof each === 'object') console.log(`${name.padEnd(15)} ${each.of_optimum.toFixed(3)} of the best (worst seed ${each.lowest.toFixed(3)}); 95 % after ${each.rollouts} rollouts, on ${each.reached} seeds; ${each.spent} spent`);
  }
}

function round(value: number): number {
  return Number(value.toFixed(3));
}
