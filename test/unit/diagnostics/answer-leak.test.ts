import assert from 'node:assert/strict';
import { marked, python, script } from './support.ts';

describe('diagnostic: the answer flowing into the prompt', () => {
  const ask = 'reply = OpenAI(base_url=llm.endpoint, api_key=llm.api_key).chat.completions.create(model=llm.model, messages=messages)';
  const leaks: [string, string, string, string[]][] = [
    ['directly', 'a.py', python(`messages = [{"role": "user", "content": f"{task['question']} ({task['answer']})"}]\n${ask}\nreturn 1.0`), ["task['answer']"]],
    ['over variables', 'a.py', python(`hint = task["expected"].strip()\ntext = "Q: " + task["question"]\ntext += hint\nmessages = [{"role": "user", "content": text}]\n${ask}\nreturn 1.0`), ['text']],
    ['through a list of messages', 'a.py', python(`messages = []\ngold = task.get("answer")\nmessages.append({"role": "user", "content": gold})\n${ask}\nreturn 1.0`), ['gold']],
    ['through a template', 'a.py', python(`text = "{q} {a}".format(q=task["question"], a=task["solution"])\nmessages = [dict(role="user", content=text)]\n${ask.replace('messages=messages', 'messages=[{"role": "user", "content": text}]')}\nreturn 1.0`), ['text']],
    ['through a prompt function', 'a.py', python(`${ask.replace('messages=messages', 'messages=prompt(task["answer"])')}\nreturn 1.0`), ['task["answer"]']],
    ['directly, in TypeScript', 'a.ts', script("await client.chat.completions.create({ model: llm.model, messages: [{ role: 'user', content: `${task.question}: ${task.answer}` }] });\nreturn 1;"), ['task.answer']],
    ['destructured, in TypeScript', 'a.ts', script("const { question, answer: gold } = task;\nconst messages = [];\nmessages.push({ role: 'user', content: question + gold });\nawait ask(llm, messages);\nreturn 1;"), ['gold']],
    ['as a parameter, in TypeScript', 'a.ts', script("await ask([{ role: 'user', content: answer }]);\nreturn 1;", '{ answer }: Task, { llm }: { llm: LLM }'), ['answer']],
  ];
  for (const [what, file, text, expected] of leaks) it(`is found ${what}`, async () => { assert.deepEqual(await marked('answer-leak', file, text), expected); });

  const fine: [string, string, string][] = [
    ['in the reward', 'a.py', python(`messages = [{"role": "user", "content": task["question"]}]\n${ask}\nreturn score(reply, task["answer"])`)],
    ['in a comparison whose result is told', 'a.py', python(`right = guess(task) == task["answer"]\nmessages = [{"role": "user", "content": f"That was {right}."}]\n${ask}\nreturn float(right)`)],
    ['in a score that is told', 'a.py', python(`points = score(guess(task), task["answer"])\nmessages = [{"role": "user", "content": f"You have {points}."}]\n${ask}\nreturn points`)],
    ['of another object', 'a.ts', script("await ask([{ role: 'user', content: form.answer }]);\nreturn 1;")],
  ];
  for (const [what, file, text] of fine) it(`is no leak ${what}`, async () => { assert.deepEqual(await marked('answer-leak', file, text), []); });
});
