import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Scanner } from '../../../src/agents/scan/scanner.ts';
import type { Change, ScanFolder } from '../../../src/agents/scan/protocol.ts';

const agent = 'from agent_trainer import rollout\n@rollout\ndef solve(task): ...\n';
const never = (): boolean => false;

describe('scanning folders for agents', () => {
  let root = '';
  let scanner: Scanner;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'agent-trainer-scan-'));
    scanner = new Scanner();
  });
  afterEach(() => { rmSync(root, { recursive: true, force: true }); });

  function write(files: Record<string, string>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }
  const folder = (path = '', exclude: ScanFolder['exclude'] = {}): ScanFolder => ({ path: join(root, path), exclude });
  const scan = async (...folders: ScanFolder[]): Promise<string[]> => ((await scanner.scan(folders.length === 0 ? [folder()] : folders, never))?.found ?? []).map(({ path }) => path.slice(root.length + 1)).sort();
  const look = (changes: Change[], ...folders: ScanFolder[]): Record<string, string[]> => {
    const { found, gone } = scanner.look(folders.length === 0 ? [folder()] : folders, changes);
    return { found: found.map(({ path, agents }) => `${path.slice(root.length + 1)}: ${agents.map(({ name }) => name).join(' ')}`), gone: gone.map((path) => path.slice(root.length + 1)) };
  };
  const onDisk = (path: string): Change => ({ path: join(root, path), text: null });

  it('finds them in every language and leaves out what tools install, build and declare', async () => {
    write({ 'a.py': agent, 'b/c.ts': "import OpenAI from 'openai';\nexport const ask = () => new OpenAI().responses.create({});\n", 'b/d.md': agent, 'node_modules/x/a.py': agent, '.venv/a.py': agent, 'dist/a.py': agent, 'b/e.d.ts': 'x' });
    symlinkSync(join(root, 'b'), join(root, 'link'));
    assert.deepEqual(await scan(), ['a.py', join('b', 'c.ts')]);
  });

  it('respects .gitignore: nested, negated, and from the root of the repository down to the folder', async () => {
    write({
      '.git/info/exclude': 'secret.py\n', '.gitignore': '/generated/\n*_tmp.py\n!keep_tmp.py\n', 'generated/a.py': agent, 'deep/generated/a.py': agent, 'x_tmp.py': agent, 'keep_tmp.py': agent, 'secret.py': agent,
      'deep/.gitignore': '# mine\nlocal.py\n!x_tmp.py\n', 'deep/local.py': agent, 'deep/x_tmp.py': agent, 'deep/more/local.py': agent, 'deep/more/y_tmp.py': agent,
    });
    assert.deepEqual(await scan(), ['deep/generated/a.py', 'deep/x_tmp.py', 'keep_tmp.py']);
    assert.deepEqual(await scan(folder('deep')), ['deep/generated/a.py', 'deep/x_tmp.py']);
  });

  it("respects files.exclude: folders, braces, exceptions and 'when' clauses", async () => {
    write({ 'old/deep/a.py': agent, 'src/a.py': agent, 'src/a.test.ts': agent, 'b.py': agent, 'b.pyi': '', 'c.py': agent, 'src/c.py': agent });
    const exclude = { '**/old': true, 'src/{x,c}.py': true, '**/c.py': false, '**/*.py': { when: '$(basename).pyi' } };
    assert.deepEqual(await scan(folder('', exclude)), ['c.py', 'src/a.py']);
  });

  it('gives a folder inside another its own settings and counts its files once', async () => {
    write({ 'a.py': agent, 'inner/b.py': agent, 'inner/c.py': agent, 'other/d.py': agent });
    assert.deepEqual(await scan(folder(), folder('inner', { 'c.py': true })), ['a.py', 'inner/b.py', 'other/d.py']);
  });

  it('takes no time over files that are no sources, whatever words are in them', async () => {
    write({ 'a.py': `${agent}\0`, 'b.ts': `import OpenAI from 'openai';\n${'\u0001(\0['.repeat(50_000)}\nnew OpenAI().responses.create({});` });
    assert.deepEqual(await scanner.scan([folder()], never).then((result) => [result?.files, result?.parsed, result?.found]), [2, 0, []]);
  });

  it('parses only what has changed by time or size', async () => {
    write({ 'a.py': agent, 'b.py': agent });
    const first = await scanner.scan([folder()], never);
    assert.deepEqual([first?.files, first?.parsed, first?.found.length], [2, 2, 2]);
    writeFileSync(join(root, 'b.py'), '# solved\n');
    const second = await scanner.scan([folder()], never);
    assert.deepEqual([second?.parsed, second?.found.length], [0, 1]);
    utimesSync(join(root, 'a.py'), 1, 1);
    assert.equal((await scanner.scan([folder()], never))?.parsed, 1);
  });

  it('stops when it is cancelled', async () => {
    write(Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`m${i % 20}/a${i}.py`, `${agent}${'x = 1\n'.repeat(2000)}`])));
    assert.equal(await scanner.scan([folder()], () => true), null);
  });

  it('looks at single files: new, changed, unsaved, removed, left out', async () => {
    write({ '.gitignore': 'ignored/\n', 'a.py': agent, 'ignored/a.py': agent });
    await scan();
    write({ 'b.py': agent, 'a.py': agent.replace('solve', 'solved') });
    assert.deepEqual(look([onDisk('a.py'), onDisk('b.py'), onDisk('ignored/a.py'), onDisk('gone.py'), { path: join(root, 'b.py'), text: 'x = 1' }]), { found: ['a.py: solved', 'b.py: solve', 'b.py: '], gone: ['ignored/a.py', 'gone.py'] });
    assert.deepEqual(look([onDisk('a.py')], folder('', { 'a.py': true })), { found: [], gone: ['a.py'] });
  });

  it('looks into a folder that was moved in, and forgets one that was removed', async () => {
    write({ 'from/a.py': agent, 'from/deep/b.py': agent, '.gitignore': 'b.py\n' });
    await scan();
    renameSync(join(root, 'from'), join(root, 'to'));
    assert.deepEqual(look([onDisk('from'), onDisk('to')]), { found: ['to/a.py: solve'], gone: ['from'] });
  });
});
