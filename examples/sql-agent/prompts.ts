/** Everything the agent says to the model, and how it reads a query in the answer. agent.py holds the same texts; a test compares them. */

export interface Message { role: 'system' | 'user' | 'assistant'; content: string }

export const SYSTEM_PROMPT = 'You write SQLite queries.';
export const CHECK_PROMPT = 'Result: {result}\nIs the query correct or incorrect?';
export const REWRITE_PROMPT = 'Rewrite the query.';

/** The conversation that asks for the first query. */
export function writePrompt(schema: string, question: string): Message[] {
  return [
    { role: 'system', content: SYSTEM_PROMPT },
    { role: 'user', content: `${schema}\n${question}` },
  ];
}

/** The turn that shows what the query returned and asks for a verdict. */
export function checkPrompt(result: string): Message {
  return { role: 'user', content: CHECK_PROMPT.replace('{result}', () => result) };
}

/** The turn that asks for another query after a verdict of "incorrect". */
export function rewritePrompt(): Message {
  return { role: 'user', content: REWRITE_PROMPT };
}

/** The query inside a Markdown code block, if the model wrapped it in one. */
export function extractSql(answer: string): string {
  return (/```(?:sql)?\s*([\s\S]*?)```/.exec(answer)?.[1] ?? answer).trim();
}
