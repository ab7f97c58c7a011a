import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import { findPrompts } from '../../../trainer/prompts/find-prompts.ts';

/** Agents and their prompts: `=== title`, then each file after `--- path`, then the expected list after `--- prompts of path:name`. */
function readCases(file: string): { title: string; files: Map<string, string>; agent: string; expected: string }[] {
  const text = readFileSync(new URL(`../../fixtures/prompts/${file}`, import.meta.url), 'utf8');
  return text.split(/^=== /m).slice(1).map((section) => {
    const [title = '', ...parts] = section.split(/^--- /m);
    const files = new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
    const last = [...files.keys()].at(-1) ?? '';
    const expected = files.get(last) ?? '';
    files.delete(last);
    return { title: title.trim(), files, agent: last.replace('prompts of ', ''), expected };
  });
}

const described = ({ prompt_id, syntax, engine, text, variables }: Prompt): string =>
  [prompt_id, syntax, engine, JSON.stringify(text), ...variables.length > 0 ? [variables.map(({ name }) => name).join(' ')] : []].filter((part) => syntax !== 'file' || part !== prompt_id || true).join(' · ');

for (const file of ['python.txt', 'script.txt']) {
  describe(`the prompts of agents (${file})`, () => {
    for (const { title, files, agent, expected } of readCases(file)) {
      it(title, () => {
        const [path = '', name = ''] = agent.split(':');
        const prompts = findPrompts('/workspace', path, name, (each) => files.get(each) ?? null);
        assert.equal(prompts.map((prompt) => `${described(prompt)}\n`).join(''), expected);
        assert(prompts.every(({ agents }) => agents.length === 1 && agents[0] === agent));
        for (const { file: at, from, to, line, syntax } of prompts) {
          const text = files.get(at) ?? '';
          assert.equal(text.slice(0, from).split('\n').length, line);
          if (syntax.startsWith('python') || syntax.startsWith('script')) assert.match(text.slice(from, to), /^([a-z]*["'`][^]*["'`]|[^]*\+[^]*)$/i);
        }
      });
    }
  });
}
