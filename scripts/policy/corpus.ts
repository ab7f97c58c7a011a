import type { Database, SqlJsStatic } from 'sql.js';
import { describeResult, describeSchema, runQuery } from '../../examples/sql-agent/database.ts';
import { printQuery, type Query } from '../../examples/sql-agent/generator/query.ts';
import { askQuestion, questionKinds } from '../../examples/sql-agent/generator/questions.ts';
import { Random } from '../../examples/sql-agent/generator/random.ts';
import { buildDatabase, randomRows, randomSchema } from '../../examples/sql-agent/generator/schema.ts';
import { checkPrompt, rewritePrompt, writePrompt, type Message } from '../../examples/sql-agent/prompts.ts';
import { habits } from './habits.ts';

export interface CorpusSettings {
  seed: number;
  questionsPerSchema: number;
  /** Probability that a rewrite shows the right query rather than another wrong one. */
  mendRate: number;
  /** Probability of a column that does not exist in the table, so that the loop of error, verdict and rewrite is seen on every kind of question. */
  slipRate: number;
  /** Share of the demonstrations that end after a first query that runs: the short verdict needs less practice than the query. */
  queryOnlyRate: number;
}

/** Messages of a demonstration whose first query runs: system, question, query, result, verdict. */
const ONE_ROUND = 5;

/** Endless demonstrations of the whole loop on random schemas: question, query, result, verdict and, after an error, the rewritten query. */
export function* makeCorpus(SQL: SqlJsStatic, settings: CorpusSettings): Generator<Message[], never> {
  const random = new Random(settings.seed);
  for (let i = 0; ; i++) {
    const schema = randomSchema(random, `schema${i}`);
    const rows = randomRows(random, schema, { parent: [6, 12], child: [12, 20] });
    const database = buildDatabase(SQL, schema, rows);
    const text = describeSchema(database);
    const allColumns = schema.tables.flatMap(({ columns }) => columns.map(({ name }) => name));
    for (let j = 0; j < settings.questionsPerSchema; j++) {
      const { text: question, query } = askQuestion(random, schema, rows, random.pick(questionKinds), 'all');
      const first = random.chance(settings.slipRate) ? slip(random, query, allColumns) : withHabits(random, query);
      const second = random.chance(settings.mendRate) ? query : withHabits(random, query);
      const messages = demonstrate(database, text, question, printQuery(first), printQuery(second));
      yield messages.length === ONE_ROUND && random.chance(settings.queryOnlyRate) ? messages.slice(0, 3) : messages;
    }
    database.close();
  }
}

/** The verdict of the demonstrations knows failing queries only; a wrong result passes as correct. */
function demonstrate(database: Database, schema: string, question: string, first: string, second: string): Message[] {
  const messages = writePrompt(schema, question);
  for (const [turn, query] of [first, second].entries()) {
    if (turn > 0) messages.push(rewritePrompt());
    const result = runQuery(database, query);
    messages.push(
      { role: 'assistant', content: query },
      checkPrompt(describeResult(result)),
      { role: 'assistant', content: 'error' in result ? 'incorrect' : 'correct' },
    );
    if (!('error' in result)) break;
  }
  return messages;
}

function withHabits(random: Random, query: Query): Query {
  return habits.reduce((current, habit) => (random.chance(habit.rate) ? habit.apply(current) ?? current : current), query);
}

function slip(random: Random, query: Query, columns: string[]): Query {
  const wrong = random.pick(columns);
  const [condition, ...others] = query.where;
  if (condition && random.chance(0.5)) return { ...query, where: [{ ...condition, column: wrong }, ...others] };
  return { ...query, items: query.items.map((item) => (item.column === '*' ? item : { ...item, column: wrong })) };
}
