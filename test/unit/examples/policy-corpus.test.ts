import assert from 'node:assert/strict';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import initSqlJs from 'sql.js';
import type { Message } from '../../../examples/sql-agent/prompts.ts';
import { heldOutSchemas, sharedSchemas } from '../../../examples/sql-agent/generator/schemas.ts';
import { describeSchema } from '../../../examples/sql-agent/database.ts';
import { Random } from '../../../examples/sql-agent/generator/random.ts';
import { buildDatabase, randomRows } from '../../../examples/sql-agent/generator/schema.ts';
import type { Query } from '../../../examples/sql-agent/generator/query.ts';
import { printQuery } from '../../../examples/sql-agent/generator/query.ts';
import { trainTokenizer } from '../../../scripts/policy/bpe.ts';
import { makeCorpus } from '../../../scripts/policy/corpus.ts';
import { conversationEncoder } from '../../../scripts/policy/encode.ts';
import { habits } from '../../../scripts/policy/habits.ts';

const settings = { seed: 3, questionsPerSchema: 6, mendRate: 0.5, slipRate: 0.2, queryOnlyRate: 0.5 };

describe("the sample policy's corpus", () => {
  let conversations: Message[][];
  before(async () => {
    const corpus = makeCorpus(await initSqlJs(), settings);
    conversations = Array.from({ length: 300 }, () => corpus.next().value);
  });

  it('is the same for the same seed', async () => {
    const again = makeCorpus(await initSqlJs(), settings);
    for (const conversation of conversations.slice(0, 20)) assert.deepEqual(again.next().value, conversation);
  });

  it('shows rewriting after an error, and only then', () => {
    const rewritten = conversations.filter((messages) => messages.some(({ content }) => content === 'Rewrite the query.'));
    assert.ok(rewritten.length > 20);
    for (const messages of conversations) {
      const verdicts = messages.filter(({ role, content }) => role === 'assistant' && content.includes('correct')).map(({ content }) => content);
      const failed = messages.filter(({ content }) => content.startsWith('Result: error')).length;
      assert.equal(verdicts.filter((verdict) => verdict === 'incorrect').length, failed);
    }
  });

  it('contains none of the schemas of the tasks', async () => {
    const SQL = await initSqlJs();
    for (const schema of [...sharedSchemas, ...heldOutSchemas]) {
      const database = buildDatabase(SQL, schema, randomRows(new Random(1), schema, { parent: [3, 3], child: [3, 3] }));
      const text = describeSchema(database);
      assert.ok(conversations.every((messages) => !messages[1]?.content.includes(text)));
      database.close();
    }
  });

  it('is encoded as the chat template lays it out, with the assistant alone trained', () => {
    const files = trainTokenizer(conversations.flat().flatMap(({ role, content }) => [`${role}\n`, content]), 512, 256);
    const tokenizer = new Tokenizer(files.tokenizer, files.config);
    const template = new Template((files.config as { chat_template: string }).chat_template);
    const encode = conversationEncoder(tokenizer);
    for (const messages of conversations.slice(0, 50)) {
      const { tokens, mask } = encode(messages);
      assert.deepEqual(tokens, tokenizer.encode(template.render({ messages, add_generation_prompt: false }), { add_special_tokens: false }).ids);
      const trained = Array.from(tokens).filter((_, i) => mask[i] === 1);
      assert.equal(tokenizer.decode(trained), messages.filter(({ role }) => role === 'assistant').map(({ content }) => `${content}<|im_end|>`).join(''));
    }
  });
});

describe('byte-level BPE', () => {
  it('merges the most frequent pair first and loses no byte', () => {
    const { tokenizer: json, config } = trainTokenizer(['aab aab aab ab'], 256 + 3 + 2, 64);
    assert.deepEqual((json as { model: { merges: [string, string][] } }).model.merges, [['a', 'b'], ['a', 'ab']]);
    const tokenizer = new Tokenizer(json, config);
    for (const text of ['aab', ' naïve 漢字 🙂\n\ttab', "it's 12.50; author_id"]) assert.equal(tokenizer.decode(tokenizer.encode(text, { add_special_tokens: false }).ids), text);
  });
});

describe('habits of the demonstrations', () => {
  const query: Query = {
    distinct: true, items: [{ type: 'column', column: 'city' }, { type: 'aggregate', aggregate: 'SUM', distinct: true, column: 'age' }], from: 'books', join: { table: 'authors', key: 'author_id' },
    where: [{ column: 'age', operator: '>=', value: 3 }, { column: 'year', operator: '<=', value: 4 }, { column: 'city', operator: '!=', value: "L'Aquila" }],
    groupBy: 'city', having: { operator: '>=', value: 2 }, orderBy: { column: 'age', descending: true }, limit: 3,
  };

  it('each change the query where there is occasion', () => {
    const sql = printQuery(query);
    assert.equal(sql, "SELECT DISTINCT city, SUM(DISTINCT age) FROM books JOIN authors USING (author_id) WHERE age >= 3 AND year <= 4 AND city != 'L''Aquila' GROUP BY city HAVING COUNT(*) >= 2 ORDER BY age DESC LIMIT 3");
    for (const { name, apply } of habits) {
      const changed = apply(query);
      assert.ok(changed && printQuery(changed) !== sql, name);
    }
  });

  it('leave a plain query alone', () => {
    const plain: Query = { distinct: false, items: [{ type: 'column', column: 'city' }], from: 'books', join: null, where: [], groupBy: null, having: null, orderBy: null, limit: null };
    for (const { name, apply } of habits) assert.equal(apply(plain), null, name);
  });
});
