import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import { applyPrompt } from '../../../trainer/prompts/apply-prompt.ts';
import { findPrompts, promptsIn } from '../../../trainer/prompts/find-prompts.ts';
import { overlayOf } from '../../../trainer/prompts/overlay.ts';
import { applyEdits } from '../../../trainer/prompts/text-edit.ts';

const agent = `import yaml
from pathlib import Path
from openai import OpenAI

PROMPTS = yaml.safe_load(open("prompts/all.yaml"))
RULES = Path("prompts/rules.txt").read_text()
SYSTEM = "You are brief."

def run(task):
    messages = [{"role": "system", "content": SYSTEM + RULES}, {"role": "system", "content": PROMPTS["style"]}]
    messages.append({"role": "user", "content": f'Question: {task["q"]}'})
    return OpenAI().chat.completions.create(model="m", messages=messages)
`;
const yaml = `# keep this comment
style:   "Write plainly."   # and this one
list:
- &first one
- *first
block: |
  Two
  lines
`;

describe('overlays', () => {
  const workspace = mkdtempSync(join(tmpdir(), 'overlay-'));
  const files: Record<string, string> = { 'agent.py': agent, 'prompts/all.yaml': yaml, 'prompts/rules.txt': 'Rule one.\r\nRule two.\r\n' };
  before(() => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    }
  });
  after(() => rmSync(workspace, { recursive: true }));

  const found = (): Prompt[] => findPrompts(workspace, 'agent.py', 'run');

  it('write several prompts of several files, and leave the files alone', () => {
    const prompts = found();
    assert.deepEqual(prompts.map(({ prompt_id, text }) => [prompt_id, text]), [
      ['agent.py#SYSTEM', 'You are brief.'], ['agent.py#run.messages.user', 'Question: {task["q"]}'],
      ['prompts/all.yaml#style', 'Write plainly.'], ['prompts/rules.txt', 'Rule one.\nRule two.\n'],
    ]);
    const overlay = overlayOf(workspace, prompts, {
      'agent.py#SYSTEM': 'You are "brief".\nAnd kind.', 'agent.py#run.messages.user': 'Q: {task["q"]}\nA:', 'prompts/all.yaml#style': 'Write plainly.', 'prompts/rules.txt': 'No rules.\nNone.',
    });
    assert.deepEqual(overlay, [
      { path: join(workspace, 'agent.py'), text: agent.replace('"You are brief."', `'You are "brief".\\nAnd kind.'`).replace('Question: {task["q"]}', 'Q: {task["q"]}\\nA:') },
      { path: join(workspace, 'prompts/rules.txt'), text: 'No rules.\r\nNone.' },
    ]);
    assert.equal(readFileSync(join(workspace, 'agent.py'), 'utf8'), agent);
  });

  it('find a prompt that has moved, and refuse one that has changed', () => {
    const [system] = found();
    assert(system !== undefined);
    writeFileSync(join(workspace, 'agent.py'), `# a comment, or two\n${agent}`);
    assert.match(overlayOf(workspace, [system], { [system.prompt_id]: 'You are kind.' })[0]?.text ?? '', /^# a comment, or two\n[^]*SYSTEM = "You are kind\."/);
    writeFileSync(join(workspace, 'agent.py'), agent.replace('You are brief.', 'You are short.'));
    assert.throws(() => overlayOf(workspace, [system], { [system.prompt_id]: 'You are kind.' }), { code: 'conflict', message: /SYSTEM in agent\.py has changed/ });
    rmSync(join(workspace, 'agent.py'));
    assert.throws(() => overlayOf(workspace, [system], { [system.prompt_id]: 'You are kind.' }), { code: 'not_found' });
    writeFileSync(join(workspace, 'agent.py'), agent);
  });

  it('leave a prompt alone whose text stands there twice once the file has changed: they cannot be told apart', () => {
    const twins = `${agent}\ndef other(task):\n    return OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "You are brief."}])\n`;
    writeFileSync(join(workspace, 'agent.py'), twins);
    const [twin] = findPrompts(workspace, 'agent.py', 'other');
    assert(twin !== undefined);
    const text = () => overlayOf(workspace, [twin], { [twin.prompt_id]: 'You are kind.' })[0]?.text;
    assert.equal(text(), twins.replace('"content": "You are brief."', '"content": "You are kind."'));
    writeFileSync(join(workspace, 'agent.py'), `# ${'x'.repeat(600)}\n${twins}`);
    assert.throws(text, { code: 'conflict', message: /more than once/ });
    writeFileSync(join(workspace, 'agent.py'), agent);
  });

  it('are not made of files in another encoding, which would come back with other characters', () => {
    const [system] = found();
    assert(system !== undefined);
    writeFileSync(join(workspace, 'agent.py'), Buffer.from(`# caf\xe9\n${agent}`, 'latin1'));
    assert.throws(() => overlayOf(workspace, [system], { [system.prompt_id]: 'You are kind.' }), { code: 'bad_input', message: /not in UTF-8/ });
    assert.deepEqual(found(), []);
    writeFileSync(join(workspace, 'agent.py'), `\ufeff${agent}`);
    assert.match(overlayOf(workspace, found(), { [system.prompt_id]: 'You are kind.' })[0]?.text ?? '', /^\ufeffimport yaml/);
    writeFileSync(join(workspace, 'agent.py'), agent);
  });

  it('change one string of a YAML file and nothing else (500 texts)', () => {
    const pieces = ['Write', ' plainly.', '\n', '\n\n', '"', "'", ': ', '# ', '- ', '{a}', '\\', '  ', '\t', 'é', '🙂', '|', '>', '%', '@', '\n  indented', '---', 'null', '1'];
    const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')).filter((text) => text.trim() !== '');
    for (const [key, newline] of [['style', '\n'], ['block', '\n'], ['style', '\r\n'], ['block', '\r\n']] as const) {
      const file = yaml.replaceAll('\n', newline);
      const text = key === 'style' ? 'Write plainly.' : 'Two\nlines\n';
      const prompt: Prompt = { prompt_id: `all.yaml#${key}`, name: key, file: 'all.yaml', syntax: 'yaml', engine: 'none', from: 0, to: 0, line: 1, text, variables: [], agents: [] };
      fc.assert(fc.property(texts, (newText) => {
        const after = applyEdits(file, applyPrompt(file, prompt, newText));
        const values = parse(after.replaceAll('\r\n', '\n')) as Record<string, unknown>;
        assert.equal(values[key], newText, after);
        assert.deepEqual({ ...values, [key]: text }, parse(file.replaceAll('\r\n', '\n')), after);
        assert(after.includes('# keep this comment') && after.includes('- &first one') && after.includes('- *first'), after);
        if (newline === '\r\n') assert(!/(?<!\r)\n/.test(after), 'one kind of line breaks');
      }), { numRuns: 125, seed: 3 });
    }
  });
});

describe('the prompts of one open file', () => {
  it('are found without its agent, and in the middle of an edit', () => {
    const prompts = 'export const SYSTEM = "You are brief.";\nexport const messages = (q: string) => [{ role: "system", content: SYSTEM }, { role: "user", content: `Q: ${q}?` }];\n';
    assert.deepEqual(promptsIn('prompts.ts', prompts).map(({ prompt_id, agents }) => [prompt_id, agents]), [['prompts.ts#SYSTEM', []], ['prompts.ts#messages.user', []]]);
    assert.deepEqual(promptsIn('agent.py', agent).map(({ prompt_id, agents }) => [prompt_id, agents]), [['agent.py#SYSTEM', ['agent.py:run']], ['agent.py#run.messages.user', ['agent.py:run']]]);
    for (let end = 0; end < agent.length; end += 7) promptsIn('agent.py', agent.slice(0, end));
    assert.deepEqual(promptsIn('notes.md', agent), []);
  });
});
