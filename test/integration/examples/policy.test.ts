import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeSchema, openDatabase, score } from '../../../examples/sql-agent/database.ts';
import type { SqlTask } from '../../../examples/sql-agent/generate.ts';
import { extractSql, writePrompt } from '../../../examples/sql-agent/prompts.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';

const folder = fileURLToPath(new URL('../../../examples/sql-agent/', import.meta.url));
const tasks = readFileSync(`${folder}data/heldout.jsonl`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as SqlTask);
const promptOf = (task: SqlTask) => writePrompt(describeSchema(databaseOf(task)), task.question).map((message) => ({ ...message }));
const databaseOf = (task: SqlTask) => openDatabase(`${folder}databases/${task.db}.sqlite`);

describe('the sample policy', () => {
  let policy: Awaited<ReturnType<typeof openPolicy>>;
  before(async () => { policy = await openPolicy(`${folder}policy`, { threads: 2 }); });
  after(async () => { await policy.close(); });

  async function firstQuery(task: SqlTask): Promise<string> {
    const context = { rollout_id: null, attempt_id: null, mode: null, seed: null, signal: new AbortController().signal };
    for await (const event of policy.chat.chat({ model: 'policy', messages: promptOf(task), temperature: 0, max_tokens: 64 }, context)) {
      if (event.type === 'done') return extractSql(event.completion.choices[0]?.message.content ?? '');
    }
    throw new Error('no answer');
  }

  it('is small', () => {
    assert.ok(statSync(`${folder}policy/model.safetensors`).size <= 8e6);
    assert.ok(policy.info.parameters < 2e6);
  });

  it('writes queries, many of them wrong', async () => {
    const sample = tasks.filter((_, i) => i % 4 === 1 || i % 4 === 2);
    const queries = await Promise.all(sample.map(firstQuery));
    const share = sample.reduce((sum, task, i) => sum + score(databaseOf(task), queries[i] ?? '', task.query), 0) / sample.length;
    assert.ok(queries.filter((query) => query.startsWith('SELECT ')).length > 0.95 * sample.length);
    assert.ok(share > 0.2 && share < 0.6, `${share} of the first queries are right`);
  });

  it('has a tokenizer that spells every task in few tokens and loses nothing', async () => {
    const tokenizer = await openTokenizer(`${folder}policy`);
    for (const task of tasks) {
      const messages = promptOf(task);
      const prompt = tokenizer.encode(tokenizer.renderChat(messages, null));
      assert.ok(prompt.length < 128, `${task.id} takes ${prompt.length} tokens`);
      for (const { content } of messages) assert.equal(tokenizer.decode(tokenizer.encode(content)), content);
    }
  });
});
