import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadExamples, loadPreferences } from '../../../trainer/datasets/examples.ts';

const user = { role: 'user', content: 'Hi' };
const assistant = (content: string) => ({ role: 'assistant', content });

describe('files of examples', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'examples-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const write = (...rows: unknown[]) => {
    const file = path.join(folder, 'data.jsonl');
    writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
    return file;
  };

  it('hold conversations, or prompts with completions', async () => {
    const tools = [{ type: 'function', function: { name: 'look' } }];
    assert.deepEqual(await loadExamples(write({ messages: [user, assistant('a')], tools }, { prompt: [user, assistant('old'), user], completion: [assistant('new')], source: 'x' })), [
      { messages: [user, assistant('a')], tools, from: 0 },
      { messages: [user, assistant('old'), user, assistant('new')], tools: null, from: 3 },
    ]);
  });

  it('hold pairs of answers', async () => {
    assert.deepEqual(await loadPreferences(write({ prompt: [user], chosen: [assistant('good')], rejected: [assistant('bad')] })), [
      { chosen: { messages: [user, assistant('good')], tools: null, from: 1 }, rejected: { messages: [user, assistant('bad')], tools: null, from: 1 } },
    ]);
  });

  it('name the line that is wrong', async () => {
    const good = { messages: [user, assistant('a')] };
    await assert.rejects(loadExamples(write(good, { text: 'hello' })), /data\.jsonl, line 2: the row must be \{"messages": \[\.\.\.\]\} or/);
    await assert.rejects(loadExamples(write({ messages: [user] })), /line 1: there is no message of the assistant to learn/);
    await assert.rejects(loadExamples(write({ prompt: [assistant('a')], completion: [user] })), /no message of the assistant/);
    await assert.rejects(loadPreferences(write({ prompt: [user], chosen: [assistant('a')] })), /line 1: the row has a wrong "rejected"/);
    await assert.rejects(loadPreferences(write({ prompt: [user], chosen: [assistant('a')], rejected: [user] })), /both answers need a message/);
  });
});
