import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { attr } from '../../../trainer/protocol/span.ts';
import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { bench, workspace, type Bench } from './harness.ts';

/** Two agents that say in how many ways they read the texts of their files. Each part is imported or read in another way. */
const python = {
  'agent.py': `
import asyncio, importlib, io, json, os, pkgutil, pathlib, runpy
from agent_trainer import emit_message, operation, rollout
import part
PROMPT = "old"
HERE = os.path.dirname(os.path.abspath(__file__))
@rollout
def agent(task, resources):
    os.chdir(HERE)
    with operation("reading"):
        seen = {
            "imported": part.PROMPT, "own": PROMPT, "late": importlib.import_module("late").PROMPT,
            "open": open("prompt.txt").read(), "binary": open(b"prompt.txt", "rb").read().decode(), "io": io.open("./prompt.txt", encoding="utf-8").read(),
            "path": pathlib.Path(HERE, "prompt.txt").read_text(), "path bytes": pathlib.Path("prompt.txt").read_bytes().decode(),
            "package": pkgutil.get_data("part", "prompt.txt").decode(), "run": runpy.run_path("part.py")["PROMPT"],
            "lines": next(iter(open("prompt.txt"))),
        }
    emit_message(json.dumps({"seen": seen, "resources": sorted(resources)}))
    if task.get("fail"):
        part.fail()
    return 1.0
`,
  'part.py': 'PROMPT = "old"\ndef fail():\n    raise ValueError("here")\n',
  'late.py': 'PROMPT = "old"\n',
};
const node = {
  'agent.ts': `
import { createReadStream, openSync, readFile, readFileSync, readSync, closeSync } from 'node:fs';
import * as fs from 'node:fs';
import { open, readFile as read } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { emitMessage, operation, rollout } from 'agent-trainer/runtime';
import { fail, PROMPT as imported } from './part.ts';
import { PROMPT as script } from './script.mjs';
import { PROMPT as untyped } from './untyped.js';
import common from './common.cjs';
const PROMPT = 'old';
const here = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const file = join(here, 'prompt.txt');
async function streamed() { let text = ''; for await (const chunk of createReadStream(file, 'utf8')) text += chunk; return text; }
function descriptor() { const opened = openSync(file, 'r'); const buffer = Buffer.alloc(100); const length = readSync(opened, buffer); closeSync(opened); return buffer.toString('utf8', 0, length); }
async function handle() { const opened = await open(file); try { return await opened.readFile('utf8'); } finally { await opened.close(); } }
const reading = operation('reading', async () => ({
  imported, own: PROMPT, script, untyped, common: common.PROMPT, late: (await import('./late.ts')).PROMPT, required: createRequire(import.meta.url)('./required.cjs').PROMPT,
  sync: readFileSync(file, 'utf8'), buffer: String(readFileSync(Buffer.from(file))), url: fs.readFileSync(pathToFileURL(file), 'utf8'), promise: await read(file, 'utf8'),
  callback: await new Promise((resolve, reject) => readFile(file, 'utf8', (error, text) => (error ? reject(error) : resolve(text)))),
  stream: await streamed(), descriptor: descriptor(), handle: await handle(),
}));
export const agent = rollout(async (task: { fail?: boolean }, { resources }) => {
  emitMessage(JSON.stringify({ seen: await reading(), resources: Object.keys(resources).sort() }));
  if (task.fail) fail();
  return 1;
});
`,
  'part.ts': `export const PROMPT: string = 'old';\nexport function fail(): never {\n  throw new Error('here');\n}\n`,
  'script.mjs': `export const PROMPT = 'old';\n`,
  'untyped.js': `export const PROMPT = 'old';\n`,
  'package.json': '{ "type": "module" }',
  'common.cjs': `module.exports = { PROMPT: 'old' };\n`,
  'late.ts': `export const PROMPT: string = 'old';\n`,
  'required.cjs': `exports.PROMPT = 'old';\n`,
};

for (const { language, files, source, part } of [
  { language: 'python', files: python, source: 'agent.py', part: 'part.py' },
  { language: 'node', files: node, source: 'agent.ts', part: 'part.ts' },
]) {
  describe(`source overlays (${language})`, function () {
    this.timeout(60_000);
    const all: Record<string, string> = { ...files, 'prompt.txt': 'old' };
    let desk: Bench;
    let folder: string;
    beforeEach(async () => {
      desk = await bench();
      folder = workspace(all);
    });
    afterEach(() => desk.close());

    /** Every file with its prompt replaced, `lines` lines further down; resources of other types lie beside the overlay. */
    const overlay = (prompt: string, lines = 0, change = (name: string, text: string) => text) => desk.store.addResources({
      candidate: {
        resource_type: 'source_overlay',
        files: Object.entries(all).map(([name, text]) => ({ path: join(folder, name), text: change(name, (name.includes('prompt') || name.includes('package') ? '' : '\n'.repeat(lines)) + text.replaceAll('old', prompt)) })),
      },
      template: { resource_type: 'prompt_template', template: prompt, engine: 'f-string' },
    }).resources_id;
    const seenBy = (rollout: AttemptedRollout) => {
      assert.equal(rollout.attempt!.outcome, 'scored', rollout.attempt!.error!);
      const message = desk.store.listSpans(rollout.rollout_id).find((span) => attr.messageBody in span.attributes)!.attributes[attr.messageBody];
      return JSON.parse(String(message)) as { seen: Record<string, string>; resources: string[] };
    };
    const textsOf = (rollout: AttemptedRollout) => new Set(Object.values(seenBy(rollout).seen));
    const contents = () => Object.fromEntries(Object.keys(all).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));

    it('the agent finds the overlaid texts, however it reads them; its files stay as they are', async () => {
      await desk.runner(source, {}, { workspace: folder });
      const before = contents();
      const [plain] = await desk.roll([{}]);
      assert.deepEqual(textsOf(plain!), new Set(['old']));
      const [tried] = await desk.roll([{}], {}, overlay('new'));
      const { seen, resources } = seenBy(tried!);
      assert.deepEqual(Object.entries(seen).filter(([, text]) => text !== 'new'), []);
      assert.deepEqual(resources, ['template'], 'the overlay is no resource of the agent');
      const [again] = await desk.roll([{}]);
      assert.deepEqual(textsOf(again!), new Set(['old']));
      assert.deepEqual(contents(), before);
    });

    it('places are those of the overlaid text', async () => {
      await desk.runner(source, {}, { workspace: folder });
      const [plain] = await desk.roll([{ fail: true }]);
      const [moved] = await desk.roll([{ fail: true }], {}, overlay('new', 5));
      assert.match(plain!.attempt!.error!, new RegExp(`: here \\(.*${part}:3\\)$`));
      assert.match(moved!.attempt!.error!, new RegExp(`: here \\(${folder}/${part}:8\\)$`));
      const lineOf = (rollout: AttemptedRollout) => Number(desk.store.listSpans(rollout.rollout_id).find((span) => span.attributes[attr.operationLabel] === 'reading')!.attributes[attr.codeLine]);
      assert.equal(lineOf(moved!), lineOf(plain!) + 5);
      assert.match(desk.store.getLogs(moved!.rollout_id).stderr, /here/);
    });

    it('a worker serves rollouts of its overlay and is replaced for others, so that each sees its own', async () => {
      await desk.runner(source, { n_runners: 2 }, { workspace: folder });
      const candidates = ['first', 'second', 'third'].map((prompt) => ({ prompt, id: overlay(prompt) }));
      const ids = candidates.flatMap(({ id }) => desk.enqueue([{}, {}, {}, {}], {}, id));
      const rollouts = await desk.store.waitForRollouts([...ids, ...desk.enqueue([{}])]);
      const expected = [...candidates.flatMap(({ prompt }) => [prompt, prompt, prompt, prompt]), 'old'];
      assert.deepEqual(rollouts.map((rollout) => [...textsOf(rollout)].join()), expected);
      const workersOf = (n: number) => new Set(rollouts.slice(4 * n, 4 * n + 4).map(({ attempt }) => attempt!.worker_id));
      for (const n of [0, 1, 2]) assert.ok(workersOf(n).size <= 2, 'four rollouts of one overlay need no more than the two workers');
      for (const worker of workersOf(0)) assert.ok(!workersOf(1).has(worker));
    });

    it('an overlay under which the agent cannot be loaded fails its rollouts, with the reason, and nothing else', async () => {
      await desk.runner(source, { n_runners: 2 }, { workspace: folder });
      const broken = overlay('new', 0, (name, text) => (name === part ? `${text}\n"unclosed` : text));
      const ids = [...desk.enqueue([{}, {}, {}, {}, {}], {}, broken), ...desk.enqueue([{}], {}, overlay('new')), ...desk.enqueue([{}])];
      const rollouts = await desk.store.waitForRollouts(ids);
      assert.deepEqual(rollouts.map(({ attempt }) => attempt!.outcome), ['agent_error', 'agent_error', 'agent_error', 'agent_error', 'agent_error', 'scored', 'scored']);
      for (const { attempt } of rollouts.slice(0, 5)) assert.match(attempt!.error!, new RegExp(`cannot be imported: SyntaxError: .*${part}:\\d+`));
      const [later] = await desk.roll([{}], { max_attempts: 2, retry_condition: ['failed'] }, broken);
      assert.deepEqual([later!.attempt!.outcome, later!.attempt!.sequence_id], ['agent_error', 2]);
    });
  });
}

describe('source overlays and Python bytecode', function () {
  this.timeout(60_000);

  it('is neither read for an overlaid file nor written from it', async () => {
    const desk = await bench();
    // All texts have one length and the file one date: bytecode of the one would pass for the other's.
    const folder = workspace({ 'part.py': 'PROMPT = 0.1\n', 'agent.py': 'from agent_trainer import rollout\nimport part\n@rollout\ndef agent(task): return part.PROMPT\n' });
    const cache = join(folder, '__pycache__');
    const cached = () => readdirSync(cache).filter((name) => name.startsWith('part')).map((name) => statSync(join(cache, name)).mtimeMs);
    const { resources_id } = desk.store.addResources({ candidate: { resource_type: 'source_overlay', files: [{ path: join(folder, 'part.py'), text: 'PROMPT = 0.2\n' }] } });
    mkdirSync(cache);
    await desk.runner('agent.py', { env: { PYTHONDONTWRITEBYTECODE: '' } }, { workspace: folder });
    const before = cached();
    assert.equal(before.length, 1, 'Python writes bytecode here');
    const rewards = [resources_id, undefined, resources_id].map(async (id) => (await desk.roll([{}], {}, id))[0]!.attempt!.reward);
    assert.deepEqual(await Promise.all(rewards), [0.2, 0.1, 0.2]);
    assert.deepEqual(cached(), before);
    await desk.close();
  });
});
