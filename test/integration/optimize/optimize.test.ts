import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPromptServer, type PromptServer } from '../../../bench/fixtures/prompt-server.ts';
import { optimiserAnswer, trueScore, worldTasks } from '../../../bench/fixtures/prompt-world.ts';
import type { Ask } from '../../../trainer/protocol/endpoints.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { OptimizeRequest, OptimizeResult, type Candidate } from '../../../trainer/protocol/optimize.ts';
import type { StartRun, TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { openStore } from '../../../trainer/store/store.ts';
import { completion } from '../../fixtures/openai-server.ts';
import { makeWorkspace, type Workspace } from '../runs/workspace.ts';
import { Client } from '../server/client.ts';
import { nodeAgent, pythonAgent } from './agents.ts';

const cli = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));
const tsx = fileURLToPath(import.meta.resolve('tsx'));

describe('searches for prompts', function () {
  this.timeout(180_000); // every candidate starts worker processes

  let workspace: Workspace;
  let trainer: Trainer;
  let model: PromptServer;
  const workspaces: Workspace[] = [];

  beforeEach(async () => {
    model = await startPromptServer();
    workspace = newWorkspace();
    trainer = await openTrainer({ workspace: workspace.folder });
  });
  afterEach(async () => {
    await trainer.close();
    await model.close();
    for (const each of workspaces.splice(0)) each.remove();
  });

  const newWorkspace = (): Workspace => {
    const made = makeWorkspace({
      'agent.py': pythonAgent, 'agent.ts': nodeAgent, 'tasks.jsonl': worldTasks('w', 60).map(({ input }) => input),
      'agent-trainer.json': { agent: 'agent.py', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'agent' }, runner: { n_runners: 2 }, seed: 1 },
    });
    workspaces.push(made);
    return made;
  };
  const request = (optimize: object = {}, rest: Partial<StartRun> = {}): StartRun => ({ kind: 'optimize', agent: 'agent.py', data: 'tasks.jsonl', optimize: OptimizeRequest.parse({ budget: { rollouts: 130 }, optimizer: { kind: 'endpoint', url: model.url, name: 'optimizer' }, ...optimize }), ...rest });
  const ended = async (run_id: string): Promise<Run> => {
    const run = await trainer.runs.wait(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    return run;
  };
  const search = async (...args: Parameters<typeof request>): Promise<OptimizeResult> => OptimizeResult.parse((await ended(trainer.runs.start(request(...args)).run_id)).result);
  /** Resolves with the first candidate that fits, as it is told. */
  const until = (fits: (candidate: Candidate) => boolean) => new Promise<Candidate>((resolve) => {
    const stop = trainer.store.onEvent((event: TrainerEvent) => {
      if (event.type !== 'candidate' || !fits(event.candidate)) return;
      stop();
      resolve(event.candidate);
    });
  });

  for (const agent of ['agent.py', 'agent.ts']) {
    it(`finds a better prompt for ${agent}: candidates run under their texts, the source stays as it is`, async () => {
      const before = readFileSync(path.join(workspace.folder, agent), 'utf8');
      const phases: string[] = [];
      trainer.store.onEvent((event) => { if (event.type === 'run' && phases.at(-1) !== event.run.phase) phases.push(event.run.phase); });
      const result = await search({ budget: { rollouts: 220 } }, { agent });
      const found = trainer.runs.searches.get(result.run_id);
      const [prompt] = found.prompts;
      assert.equal(found.prompts.length, 1);
      assert.ok(trueScore(result.best.prompt) > 1.5 * trueScore(prompt!.text), result.best.prompt);
      assert.equal(result.best.prompt, found.candidates.find(({ candidate_id }) => candidate_id === result.best.candidate_id)!.texts[prompt!.prompt_id]);
      assert.deepEqual(phases, ['starting', 'searching', 'reporting', 'done']);
      assert.equal(readFileSync(path.join(workspace.folder, agent), 'utf8'), before);

      const rollouts = trainer.store.listRollouts({ run_id: result.run_id });
      assert.ok(result.rollouts <= 220 && rollouts.length === result.rollouts);
      // The model saw what the candidate says, in place of what the file says.
      const sample = found.candidates.filter(({ status }) => status === 'kept').at(-1)!;
      const spans = trainer.store.listSpans(sample.results[0]!.rollout_id);
      const seen = JSON.stringify(spans.map(({ attributes }) => attributes));
      const words = sample.texts[prompt!.prompt_id]!.split(/\{request\}/)[1]!.trim();
      assert.ok(seen.includes(words), words);
      assert.ok(sample.results.every(({ reason }) => reason !== null));

      // Held-out tasks were in no rollout of the search.
      const held = new Set(found.parts.test);
      assert.ok(rollouts.every(({ task_id, mode }) => held.has(task_id!) === (mode === 'test')));
      assert.deepEqual([result.baseline.n, result.best.n], [held.size, held.size]);
      const kept = trainer.store.getResources(result.best.resources_id!)!.resources[prompt!.prompt_id];
      assert.ok(kept?.resource_type === 'prompt_template' && kept.template === result.best.prompt);
    });
  }

  it('what an earlier search has run is taken over for free, so that the budget goes further; other code makes its own', async () => {
    const first = await search();
    assert.equal(first.cost.cached_rollouts, 0);
    const again = await search();
    assert.ok(again.cost.cached_rollouts >= first.candidates && again.candidates > first.candidates && again.cost.rollouts <= 130);
    const keys = [first, again].flatMap(({ run_id }) => trainer.store.listRollouts({ run_id, status_in: ['succeeded'] }).map(({ metadata }) => metadata!['cache_key']));
    assert.equal(new Set(keys).size, keys.length);
    workspace.write('helper.py', 'WORTH = 2\n');
    assert.equal((await search({ algorithm: 'baseline' })).cost.cached_rollouts, 0);
  });

  it('a baseline only measures', async () => {
    const result = await search({ algorithm: 'baseline' });
    assert.deepEqual([result.baseline, result.best.candidate_id, result.difference, result.improved, result.candidates, result.rollouts, model.calls.optimizer], [{ score: result.best.score, n: 60 }, 'c0', null, false, 1, 60, 0]);
  });

  it('finished by hand it reports the best so far; afterwards a text written by hand is scored, and a rule-breaking one refused', async () => {
    const found = until(({ candidate_id, status }) => candidate_id !== 'c0' && status === 'kept');
    const { run_id } = trainer.runs.start(request({ budget: { rollouts: 2000 } }));
    await found;
    const run = await trainer.runs.finish(run_id);
    assert.equal(run.status, 'succeeded', run.error ?? '');
    const result = OptimizeResult.parse(run.result);
    assert.equal(result.stopped, 'stopped');
    assert.ok(result.rollouts < 2000 && result.baseline.n > 0);

    const [id] = Object.keys(result.best.prompts);
    const good = `${result.best.prompts[id!]} The room must seat everybody. Give the answer as one line. Use the number of the room, not its nickname. Always call the room list first.`;
    assert.throws(() => trainer.runs.addCandidate({ run_id, parent: 'c0', texts: { [id!]: 'No placeholder.' } }), (error) => error instanceof TrainerError && /\{request\}/.test(error.message));
    assert.throws(() => trainer.runs.addCandidate({ run_id, parent: 'c0', texts: { 'other.py#X': 'x' } }), /no prompt other\.py#X/);
    const scored = until(({ candidate_id, validation, status }) => candidate_id === 'h1' && status === 'kept' && validation !== null);
    assert.equal(trainer.runs.addCandidate({ run_id, parent: result.best.candidate_id, texts: { [id!]: good } }).status, 'proposed');
    const hand = await scored;
    const after = OptimizeResult.parse((await ended(run_id)).result);
    assert.equal(hand.validation!.n, trainer.runs.searches.get(run_id).parts.validation.length);
    assert.equal(after.candidates, result.candidates + 1);
    assert.deepEqual(after.baseline, result.baseline);

    assert.equal(trainer.runs.pinCandidate(run_id, 'h1', true).pinned, true);
    assert.equal(trainer.runs.searches.candidate(run_id, 'h1').pinned, true);
    assert.throws(() => trainer.runs.resume(run_id), /succeeded/);
  });

  it('a model server that goes down ends it clearly, nothing counts as 0, and it goes on from there', async () => {
    const found = until(({ candidate_id, minibatch }) => candidate_id === 'c1' && minibatch !== null);
    const { run_id } = trainer.runs.start(request());
    await found;
    model.failWith(503);
    const failed = await trainer.runs.wait(run_id);
    assert.equal(failed.status, 'failed');
    assert.match(failed.error ?? '', /The server is down.*agent-trainer optimize --resume/);
    assert.ok(trainer.store.listCandidates(run_id).every(({ results }) => results.every(({ outcome }) => outcome === 'scored')));
    const before = trainer.store.listCandidates(run_id).length;
    model.failWith(null);
    trainer.runs.resume(run_id);
    const result = OptimizeResult.parse((await ended(run_id)).result);
    assert.ok(result.candidates >= before && result.rollouts <= 130);
  });

  it('goes on with the key that is named again: none is kept', async () => {
    model.requireKey('sk-secret');
    const optimizer = { kind: 'endpoint', url: model.url, name: 'optimizer', api_key: 'sk-secret' } as const;
    const found = until(({ candidate_id, minibatch }) => candidate_id === 'c1' && minibatch !== null);
    const { run_id } = trainer.runs.start(request({ optimizer }));
    await found;
    model.failWith(503);
    assert.equal((await trainer.runs.wait(run_id)).status, 'failed');
    model.failWith(null);
    assert.ok(!JSON.stringify(trainer.store.getRun(run_id)).includes('sk-secret'));
    trainer.runs.resume(run_id);
    assert.match((await trainer.runs.wait(run_id)).error ?? '', /Wrong key/);
    trainer.runs.resume(run_id, undefined, { optimizer });
    const { best } = OptimizeResult.parse((await ended(run_id)).result);
    trainer.runs.addCandidate({ run_id, parent: best.candidate_id, texts: Object.fromEntries(Object.entries(best.prompts).map(([id, text]) => [id, `${text} Be exact.`])) }, undefined, { optimizer });
    await ended(run_id);
  });

  it('a model of the editor rewrites prompts through the connection that started the search, and the one that lets it go on', async () => {
    const editor = { kind: 'editor', id: 'copilot/gpt', name: 'gpt-editor' } as const;
    const connect = async () => {
      const client = await Client.connect(trainer);
      const asked: string[] = [];
      client.socket.on('message', (data: Buffer) => {
        const { ask } = JSON.parse(data.toString()) as Partial<Ask>;
        if (!ask) return;
        asked.push(ask.model);
        const question = ask.request.messages[0]?.content;
        assert.ok(typeof question === 'string');
        const content = optimiserAnswer(question, JSON.stringify(ask.request.messages), asked.length);
        void client.call('models.answer', { ask_id: ask.ask_id, outcome: { completion: completion('gpt-editor', { content }) as never } });
      });
      return { client, asked };
    };
    const first = await connect();
    const found = until(({ candidate_id, minibatch }) => candidate_id === 'c1' && minibatch !== null);
    const { run_id } = await first.client.call('runs.start', request({ optimizer: editor }));
    await found;
    model.failWith(503);
    assert.equal((await trainer.runs.wait(run_id)).status, 'failed');
    await first.client.close();
    model.failWith(null);
    const second = await connect();
    await second.client.call('runs.resume', { run_id, models: { optimizer: editor } });
    const result = OptimizeResult.parse((await ended(run_id)).result);
    await second.client.close();
    assert.ok(first.asked.length > 0 && second.asked.length > 0);
    assert.deepEqual([...new Set([...first.asked, ...second.asked])], ['copilot/gpt']);
    assert.ok(result.candidates > 1 && model.calls.optimizer === 0);
  });

  it('killed and resumed it comes to the same as in one go, and pays for nothing twice', async function () {
    if (process.platform === 'win32') this.skip();
    const args = ['--data', 'tasks.jsonl', '--budget', '130', '--optimizer', `${model.url}#optimizer`];
    const whole = JSON.parse((await outputOf(command(workspace, ['optimize', 'agent.py', ...args, '--json']))).stdout) as OptimizeResult;
    const other = newWorkspace();
    const child = command(other, ['optimize', 'agent.py', ...args, '--json']);
    const stderr = await outputOf(child, (text) => { if (/^ {2}c2 /m.test(text)) child.kill('SIGKILL'); });
    assert.match(stderr.stderr, /c2/);
    const store = openStore(path.join(other.folder, '.agent-trainer', 'trainer.db'));
    const [run] = store.listRuns();
    const paid = store.listRollouts({ run_id: run!.run_id, status_in: ['succeeded'] }).length;
    store.close();
    const calls = { ...model.calls };
    const { stdout, stderr: said, code } = await outputOf(command(other, ['optimize', '--resume', run!.run_id, '--json']));
    assert.equal(code, 0, said);
    const resumed = JSON.parse(stdout) as OptimizeResult;
    const same = ({ baseline, best, difference, candidates, rollouts }: OptimizeResult) => ({ baseline, best: { ...best, resources_id: null }, difference, candidates, rollouts });
    assert.deepEqual(same(resumed), same(whole));
    assert.equal(model.calls.agent - calls.agent, whole.rollouts - paid);
  });

  it('the command line finishes on Ctrl+C, shows the candidates, and applies the winner when it is asked to later', async function () {
    if (process.platform === 'win32') this.skip();
    const child = command(workspace, ['optimize', 'agent.py', '--data', 'tasks.jsonl', '--budget', '3000', '--optimizer', `${model.url}#optimizer`]);
    let asked = false;
    const { stdout, stderr, code } = await outputOf(child, (text) => {
      // A candidate whose validation is far above the source's 0.15 shows on 30 held-out tasks.
      const best = Math.max(...[...text.matchAll(/kept {2}validation (\d\.\d+)/g)].map((match) => Number(match[1])));
      if (best > 0.6 && !asked) asked = child.kill('SIGINT');
    });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Ending with the best so far/);
    assert.match(stdout, /candidate +from +status/);
    assert.match(stdout, /c\d+ \* /);
    assert.equal(readFileSync(path.join(workspace.folder, 'agent.py'), 'utf8'), pythonAgent);
    const [, later] = /apply it with: agent-trainer (.*)/.exec(stdout)!;
    const applying = await outputOf(command(workspace, [...later!.split(' '), '--yes']));
    assert.match(applying.stderr, /Applied to agent\.py/);
    const applied = readFileSync(path.join(workspace.folder, 'agent.py'), 'utf8');
    const [, literal] = /PROMPT = """([\s\S]*?)"""/.exec(applied)!;
    assert.ok(trueScore(literal!) > 0.4, literal);
    assert.equal(applied.replace(literal!, ''), pythonAgent.replace(/(?<=PROMPT = """)[\s\S]*?(?=""")/, ''));
  });

  it('warns early of an agent that fails on every task, whatever its prompt', async () => {
    workspace.write('agent.py', pythonAgent.replace('    return said["reward"]', '    raise KeyError("unlucky")\n    return said["reward"]'));
    const told: string[] = [];
    trainer.store.onEvent((event) => { if (event.type === 'notice' && event.level === 'warning') told.push(`${trainer.store.listCandidates(event.run_id).length} ${event.message}`); });
    const result = await search();
    assert.deepEqual([result.improved, result.baseline.score], [false, 0]);
    assert.equal(told.filter((message) => /^1 With the prompts of today the agent failed on all \d+ tasks so far.*unlucky/.test(message)).length, 1, told.join('\n'));
  });

  it('says what is wrong with a request', async () => {
    const refused = (wrong: StartRun, message: RegExp) => assert.throws(() => trainer.runs.start(wrong), (error) => error instanceof TrainerError && message.test(error.message));
    refused(request({}, { data: undefined }), /needs "data"/);
    refused(request({}, { model: { kind: 'editor', id: 'x', name: 'X' } }), /optimiser/);
    refused(request({ budget: { usd: 1 } }), /"prices"/);
    refused(request({ optimizer: { kind: 'editor', id: 'x', name: 'X' } }), /run that the editor starts/);
    const fails = async (wrong: StartRun, message: RegExp) => assert.match((await trainer.runs.wait(trainer.runs.start(wrong).run_id)).error ?? '', message);
    await fails(request({ budget: { rollouts: 30 } }), /too small/);
    await fails(request({ prompts: ['nothing.py#X'] }), /There is no prompt nothing\.py#X\. Found: agent\.py#PROMPT/);
    workspace.write('bare.py', 'from agent_trainer import rollout\n\n@rollout\ndef bare(task, llm):\n    return 1.0\n');
    await fails(request({}, { agent: 'bare.py' }), /No prompt was found/);
  });

  const command = ({ folder }: Workspace, args: string[]): ChildProcess => spawn(process.execPath, ['--import', tsx, cli, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const outputOf = async (child: ChildProcess, seen: (stderr: string) => void = () => {}) => {
    let [stdout, stderr] = ['', ''];
    child.stdout!.setEncoding('utf8').on('data', (text: string) => { stdout += text; });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      seen(stderr);
    });
    const [code] = await once(child, 'close') as [number | null];
    return { stdout, stderr, code };
  };
});
