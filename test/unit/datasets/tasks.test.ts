import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTasks } from '../../../trainer/datasets/tasks.ts';
import { trainerError } from '../store/support.ts';

const fixtures = path.join(import.meta.dirname, '../../fixtures/datasets');

describe('datasets: files of tasks', () => {
  let folder: string;
  before(() => { folder = mkdtempSync(path.join(tmpdir(), 'tasks-')); });
  after(() => rmSync(folder, { recursive: true }));

  const write = (name: string, content: string | Uint8Array): string => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const rejects = (file: string, message: RegExp) => assert.rejects(loadTasks(file), trainerError('bad_input', message));

  it('reads JSON lines: blank lines, byte order mark, Windows line ends, line separators inside strings', async () => {
    const file = write('a.jsonl', '\ufeff{"id": "x", "q": "a\u2028b"}\r\n\r\n{"id": 7}\r\n"text"\r\n[1, 2]');
    assert.deepEqual(await loadTasks(file), [
      { id: 'x', input: { id: 'x', q: 'a\u2028b' }, line: 1 },
      { id: '7', input: { id: 7 }, line: 3 },
      { id: '1e1d0f251d3a76fa', input: 'text', line: 4 },
      { id: '49a64717d5d4cb19', input: [1, 2], line: 5 },
    ]);
  });

  it('names the bad line of JSON lines', async () => {
    await rejects(write('b.jsonl', '{"q": 1}\n\n{"q": }\n'), /b\.jsonl, line 3: this is not JSON/);
    await rejects(write('c.jsonl', '{"q": 1}\nnull\n'), /c\.jsonl, line 2: the task is null/);
    await rejects(write('d.jsonl', Buffer.concat([Buffer.from('{"q": 1}\n"'), Buffer.from([0xff]), Buffer.from('"\n')])), /d\.jsonl, line 2: the text is not UTF-8/);
    await rejects(write('e.jsonl', '\n \n'), /has no tasks/);
  });

  it('reads a JSON array with the line of each element, and JSON lines under the name .json', async () => {
    const file = write('a.json', '[\n  {"a": "[{\\"\\n,"},\n  {"b": [1,\n 2]}, 3,\n\n  {"a": 4}\n]\n');
    assert.deepEqual((await loadTasks(file)).map(({ input, line }) => [input, line]), [[{ a: '[{"\n,' }, 2], [{ b: [1, 2] }, 3], [3, 4], [{ a: 4 }, 6]]);
    assert.equal((await loadTasks(write('b.json', '{"a": 1}\n{"a": 2}\n'))).length, 2);
    await rejects(write('c.json', '[\n {"a": 1},\n {"b": 2,}\n]'), /c\.json, line 3: this is not JSON/);
    await rejects(write('d.json', '[\n {"a": 1},\n'), /d\.json, line 3: this is not JSON/);
    await rejects(write('e.json', '[1,\nnull]'), /e\.json, line 2: the task is null/);
    await rejects(write('f.json', '[]'), /has no tasks/);
  });

  it('names the line of what JSON allows and no agent could get: endless numbers, endless nesting', async () => {
    await rejects(write('g.jsonl', '{"q": 1}\n{"q": [1e400]}\n'), /g\.jsonl, line 2: a number is larger/);
    await rejects(write('h.jsonl', `{"q": 1}\n${'{"q":'.repeat(100_000)}1${'}'.repeat(100_000)}\n`), /h\.jsonl, line 2: its values are nested deeper/);
  });

  it('names the line of a mistake that the engine gives no position for', async () => {
    await rejects(write('g.json', '[\n {"a": 1},\n {"b": oops},\n {"c": 1}\n]'), /g\.json, line 3: this is not JSON: "oops" .* \(column 8\)/);
  });

  it('numbers many equal tasks in one pass', async () => {
    const ids = (await loadTasks(write('equal.jsonl', '{"q": 1}\n'.repeat(50_000)))).map(({ id }) => id);
    assert.equal(new Set(ids).size, 50_000);
    assert.equal(ids[49_999], `${ids[0]}-50000`);
  }).timeout(20_000); // one by one it would take minutes

  it('reads CSV as text, with the line where each record begins', async () => {
    const file = write('a.csv', 'id,question\n1,"two\nlines"\n\n2,"a ""quote"", and"\n');
    assert.deepEqual(await loadTasks(file), [
      { id: '1', input: { id: '1', question: 'two\nlines' }, line: 2 },
      { id: '2', input: { id: '2', question: 'a "quote", and' }, line: 5 },
    ]);
    await rejects(write('b.csv', 'id,question\n1,a\n2,b,c\n'), /b\.csv, line 3/);
    await rejects(write('c.csv', 'id,q\n1,"open\n2,b\n'), /c\.csv, line \d+: this is not a row of CSV/);
    await rejects(write('d.csv', 'q,q\n1,2\n'), /d\.csv, line 1: the column "q" is there twice/);
    await rejects(write('e.csv', 'id,q\n'), /has no tasks/);
  });

  it('reads parquet, compressed in any of the usual ways', async () => {
    const withZstd = 'zstdDecompressSync' in (await import('node:zlib'));
    for (const codec of ['snappy', 'gzip', 'brotli', ...(withZstd ? ['zstd'] : [])]) {
      assert.deepEqual(await loadTasks(path.join(fixtures, `tasks-${codec}.parquet`)), [
        { id: 'a', input: { id: 'a', question: 'How many?', big: 1, score: 0.5, when: '2026-01-02T03:04:05.000Z', choices: ['x', 'y'], nested: { rows: [1, 2] } }, line: 1 },
        { id: 'b', input: { id: 'b', question: 'Größe?', big: '9007199254740992', score: null, when: '2026-01-02T03:04:05.000Z', choices: [], nested: { rows: [] } }, line: 2 },
        { id: 'c', input: { id: 'c', question: null, big: -5, score: 2, when: '2026-01-02T03:04:05.000Z', choices: ['z'], nested: null }, line: 3 },
      ], codec);
    }
    if (!withZstd) await rejects(path.join(fixtures, 'tasks-zstd.parquet'), /Use Node 22\.15/);
    await rejects(path.join(fixtures, 'binary.parquet'), /binary\.parquet, line 1: it holds binary data/);
    await rejects(write('x.parquet', 'PAR1 not really'), /cannot be read/);
  });

  it('gives every task a stable id of its own', async () => {
    const rows = ['{"id": "a", "q": 1}', '{"id": "a", "q": 2}', '{"q": 3, "r": 4}', '{"r": 4, "q": 3}', '{"id": "b"}', '{"id": {}}', '{"id": ""}'];
    const ids = (await loadTasks(write('ids.jsonl', rows.join('\n')))).map(({ id }) => id);
    assert.equal(new Set(ids).size, rows.length);
    assert.equal(ids[4], 'b');
    assert.equal(ids[3], `${ids[2]}-2`);
    const reordered = (await loadTasks(write('ids2.jsonl', [rows[5], rows[2], rows[0], rows[1]].join('\n')))).map(({ id }) => id);
    assert.deepEqual(reordered, [ids[5], ids[2], ids[0], ids[1]]);
  });

  it('takes the first tasks under a limit, with the ids they have without it', async () => {
    const file = write('limit.jsonl', '{"id": "a"}\n{"id": "b"}\n{"id": "a"}\n');
    const all = await loadTasks(file);
    assert.deepEqual(await loadTasks(file, { limit: 2 }), all.slice(0, 2));
    assert.equal((await loadTasks(file, { limit: 9 })).length, 3);
  });

  it('says what is wrong with the file itself', async () => {
    await rejects(path.join(folder, 'missing.jsonl'), /missing\.jsonl cannot be read/);
    await rejects(write('tasks.xlsx', ''), /must end in \.jsonl/);
  });
});
