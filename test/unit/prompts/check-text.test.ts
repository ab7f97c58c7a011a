import assert from 'node:assert/strict';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import { applyPrompt } from '../../../trainer/prompts/apply-prompt.ts';
import { checkText } from '../../../trainer/prompts/check-text.ts';
import { findPrompts } from '../../../trainer/prompts/find-prompts.ts';
import { applyEdits } from '../../../trainer/prompts/text-edit.ts';

/** The prompt of a file with one model call, made from the expression of its message. */
function promptOf(expression: string, file: 'agent.py' | 'agent.ts' = 'agent.py'): { prompt: Prompt; text: string } {
  const text = file === 'agent.py'
    ? `import litellm\nfrom jinja2 import Template\n\ndef agent(task):\n    return litellm.completion(model="m", messages=[{"role": "user", "content": ${expression}}])\n`
    : `import OpenAI from 'openai';\nexport const agent = (task) => new OpenAI().chat.completions.create({ model: 'm', messages: [{ role: 'user', content: ${expression} }] });\n`;
  const [prompt] = findPrompts('/', file, 'agent', (path) => (path === file ? text : null));
  assert(prompt !== undefined, `no prompt in ${text}`);
  return { prompt, text };
}

const rule = (expression: string, newText: string, file?: 'agent.py' | 'agent.ts', limit?: number): string | null => checkText(promptOf(expression, file).prompt, newText, limit)?.rule ?? null;

describe('checking a new text', () => {
  it('takes a text that keeps the variables', () => {
    assert.equal(rule('f"Answer {task} briefly."', 'Here is a question: {task}\nAnswer it.'), null);
    assert.equal(rule('`Answer ${task.q} briefly.`', 'Here is a question: ${task.q}', 'agent.ts'), null);
    assert.equal(rule('"Answer {q} briefly.".format(q=task)', 'Q: {q}. Q again: {q}'), null);
    assert.equal(rule('"Answer all questions briefly."', 'Say {anything} and ${anything} and {{ anything }}.'), null);
  });

  it('refuses what is empty, unchanged or too long', () => {
    assert.equal(rule('"Answer all questions."', ' \n'), 'no-answer');
    assert.equal(rule('"Answer all questions."', 'Answer all questions.'), 'unchanged');
    assert.equal(rule('"Answer all questions."', 'Answer all of the questions.', 'agent.py', 27), 'too-long');
    assert.equal(rule('"Answer all questions."', 'Answer all of the questions.', 'agent.py', 28), null);
  });

  it('refuses what no file can hold and no server takes, unless it is there today', () => {
    for (const stray of ['\0', '\x07', '\x1b[1m', '\ud800', '\udc00 ']) assert.equal(rule('"Answer all questions."', `Answer ${stray}.`), 'syntax', JSON.stringify(stray));
    assert.equal(rule('"Answer all questions."', 'Answer\t🙂 é\u2028\r\nall.'), null);
    assert.equal(rule('"Answer\\x07 all questions."', 'Answer\x07 all.'), null);
  });

  it('names the variables that are missing', () => {
    const { prompt } = promptOf('f"Compare {task[\'a\']} with {task[\'b\']:>10}."');
    const rejection = checkText(prompt, 'Compare {task[\'a\']} with {b}.');
    assert.equal(rejection?.rule, 'variable-missing');
    assert.match(rejection?.message ?? '', /`\{task\['b'\]:>10\}`/);
    assert.equal(rule('"Answer " + task.q + " briefly."', 'Answer briefly.', 'agent.ts'), 'variable-missing');
  });

  it('refuses a placeholder that nothing fills in, and leaves other braces alone', () => {
    assert.equal(rule('f"Answer {task} briefly."', 'Answer {task} for {person}.'), 'variable-unknown');
    assert.equal(rule('"Answer {q} briefly.".format(q=task)', 'Answer {q} for {person}.'), 'variable-unknown');
    assert.equal(rule('"Answer {q} briefly.".replace("{q}", task)', 'Answer {q} for {person}.'), 'variable-unknown');
    assert.equal(rule('`Answer ${task} briefly.`', 'Answer ${task} for ${person}.', 'agent.ts'), 'variable-unknown');
    assert.equal(rule('`Answer ${task} briefly.`', 'Answer ${task} for {person}.', 'agent.ts'), null);
    assert.equal(rule('f"Answer {task} briefly."', 'Answer {task} as {"answer": 1}, {1, 2} or {}.'), null);
    assert.equal(rule('f"Put {{name}} into {task} briefly."', 'Put {name} twice into {task}.'), null, 'the model gets these braces today');
  });

  it('reads Jinja templates', () => {
    const template = 'Template("Rate {{ item.name }}{% for r in reviews %}\\n- {{ r }}{% endfor %}").render(item=task, reviews=task)';
    assert.equal(rule(template, '{% for review in reviews %}{{ review }} {% endfor %}Rate {{item.name | upper}} now.'), null);
    assert.equal(rule(template, 'Rate {{ item.name }}'), 'variable-missing');
    assert.equal(rule(template, 'Rate {{ item.name }} {{ reviews }} {{ nmae }}'), 'variable-unknown');
    assert.equal(rule(template, 'Rate {{ item.name }} {% for r in reviews %}{{ r }}'), 'syntax');
    assert.equal(rule(template, 'Rate {{ item.name }} with {"stars": 5}: {{ reviews }}'), null);
  });

  it('a text that passes is what the model gets', () => {
    for (const [expression, file, newText] of [
      ['"Answer {q} briefly.".format(q=task)', 'agent.py', 'Answer {q} as {"a": 1}'],
      ['f"{task} in one word."', 'agent.py', 'One word: {task} {or} {{two}}'],
      ['`${task} in one word.`', 'agent.ts', 'One `word`: ${task} ${} \\n'],
    ] as const) {
      const { prompt, text } = promptOf(expression, file);
      const after = applyEdits(text, applyPrompt(text, prompt, newText));
      const [again] = findPrompts('/', file, 'agent', (path) => (path === file ? after : null));
      assert.equal(again?.text, newText, after);
      assert.equal(again.prompt_id, prompt.prompt_id);
    }
  });
});
