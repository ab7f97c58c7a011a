/**
 * An agent that answers a question about a SQLite database with a query:
 * write_query → execute_query → check_query → rewrite_query, until the model finds its query correct or the turns are used up.
 * It knows nothing of training: it calls an OpenAI-compatible endpoint and returns a reward.
 */
import { fileURLToPath } from 'node:url';
import { operation, rollout, type LLM } from 'agent-trainer/runtime';
import { describeResult, describeSchema, openDatabase, runQuery, score, type QueryResult } from './database.ts';
import { checkPrompt, extractSql, rewritePrompt, writePrompt, type Message } from './prompts.ts';

export interface SqlTask {
  id: string;
  /** Name of a file in databases/, without its extension. */
  db: string;
  question: string;
  /** The reference query. Only the reward sees it. */
  query: string;
}

const MAX_TURNS = 3;
const MAX_QUERY_TOKENS = 64;
const MAX_VERDICT_TOKENS = 8;

export const sqlAgent = rollout(async function sqlAgent(task: SqlTask, { llm }: { llm: LLM }): Promise<number> {
  const database = openDatabase(fileURLToPath(new URL(`databases/${task.db}.sqlite`, import.meta.url)));
  const messages = writePrompt(describeSchema(database), task.question);

  const ask = async (maxTokens: number): Promise<string> => {
    const answer = await chat(llm, messages, maxTokens);
    messages.push({ role: 'assistant', content: answer });
    return answer;
  };
  const writeQuery = operation('write_query', async () => extractSql(await ask(MAX_QUERY_TOKENS)));
  const executeQuery = operation('execute_query', (query: string) => runQuery(database, query));
  const checkQuery = operation('check_query', async (result: QueryResult) => {
    messages.push(checkPrompt(describeResult(result)));
    return !/\bincorrect\b/i.test(await ask(MAX_VERDICT_TOKENS));
  });
  const rewriteQuery = operation('rewrite_query', async () => {
    messages.push(rewritePrompt());
    return extractSql(await ask(MAX_QUERY_TOKENS));
  });

  let query = await writeQuery();
  for (let turn = 1; turn < MAX_TURNS; turn++) {
    if (await checkQuery(executeQuery(query))) break;
    query = await rewriteQuery();
  }
  return score(database, query, task.query);
});

async function chat(llm: LLM, messages: Message[], maxTokens: number): Promise<string> {
  const response = await fetch(`${llm.endpoint}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'authorization': `Bearer ${llm.api_key}` },
    body: JSON.stringify({ model: llm.model, messages, max_tokens: maxTokens, ...llm.sampling_parameters }),
  });
  if (!response.ok) throw new Error(`The model answered with status ${response.status}: ${await response.text()}`);
  const completion = await response.json() as { choices: [{ message: { content: string | null } }] };
  return completion.choices[0].message.content ?? '';
}
