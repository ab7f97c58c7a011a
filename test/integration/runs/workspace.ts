import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A folder with the given files (objects as JSON, arrays as JSON lines). */
export interface Workspace { folder: string; write(name: string, content: string | object): string; remove(): void }

export function makeWorkspace(files: Record<string, string | object> = {}): Workspace {
  const folder = mkdtempSync(path.join(tmpdir(), 'workspace-'));
  const write = (name: string, content: string | object) => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : Array.isArray(content) ? content.map((row) => JSON.stringify(row)).join('\n') : JSON.stringify(content));
    return file;
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Asks the model one question; the reward is the share of the task's letters in the answer. */
export const pythonAgent = `
import json
import urllib.request
from agent_trainer import operation, rollout

@rollout
def count_letters(task, llm):
    if task.get("crash"):
        raise ValueError("cannot do " + task["crash"])
    with operation("answer"):
        body = json.dumps({"model": llm.model, "max_tokens": 12, "messages": [{"role": "user", "content": task["question"]}]}).encode()
        request = urllib.request.Request(llm.endpoint + "/chat/completions", body, {"content-type": "application/json", "authorization": "Bearer " + llm.api_key})
        with urllib.request.urlopen(request, timeout=60) as response:
            text = json.load(response)["choices"][0]["message"]["content"] or ""
    return sum(text.count(letter) for letter in task["letters"]) / max(1, len(text))
`;

export const nodeAgent = `
import { operation, rollout } from 'agent-trainer/runtime';

interface Task { question: string; letters: string; hang?: string }

const ask = operation('answer', async (llm: { endpoint: string; api_key: string; model: string }, question: string): Promise<string> => {
  const response = await fetch(llm.endpoint + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + llm.api_key },
    body: JSON.stringify({ model: llm.model, max_tokens: 12, messages: [{ role: 'user', content: question }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as any).choices[0].message.content ?? '';
});

export const countLetters = rollout(async (task: Task, { llm }) => {
  if (task.hang) {
    const { writeFileSync } = await import('node:fs');
    writeFileSync(task.hang + '/' + process.pid, '');
    await new Promise(() => setInterval(() => {}, 1000));
  }
  const text = await ask(llm, task.question);
  return [...text].filter((letter) => task.letters.includes(letter)).length / Math.max(1, [...text].length);
});
`;

export function letterTasks(count: number, from = 0): { id: string; question: string; letters: string }[] {
  return Array.from({ length: count }, (_, i) => ({ id: `q${from + i}`, question: `Say ${from + i}`, letters: 'abcdefghijklmnopqrstuvwxyz' }));
}
