import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detect } from '../../../src/agents/detect.ts';
import { reasonText } from '../../../src/agents/reason.ts';

/**
 * Golden texts: `=== title [file name]`, the source, `---`, what is found in it. With UPDATE_GOLDEN=1 the findings are
 * written anew, to be read before they are committed.
 */
interface Case { head: string; file: string; source: string; expected: string }

function casesOf(path: string, fallback: string): Case[] {
  return readFileSync(path, 'utf8').split(/^=== /m).slice(1).map((part) => {
    const [head = '', ...rest] = part.split('\n');
    const [source = '', expected = ''] = rest.join('\n').split(/^---\n/m);
    return { head, file: /\S+\.\w+$/.exec(head)?.[0] ?? fallback, source, expected };
  });
}

const found = ({ file, source }: Case): string =>
  detect(file, source).map((agent) => `${agent.kind} ${agent.name} · ${agent.framework} · ${reasonText(agent.reason)}\n`).join('');

for (const [golden, fallback] of [['python.txt', 'a.py'], ['script.txt', 'a.ts']] as const) {
  describe(`what is found in ${golden}`, () => {
    const path = join(import.meta.dirname, '..', '..', 'fixtures', 'detect', golden);
    const cases = casesOf(path, fallback);
    if (process.env['UPDATE_GOLDEN'] === '1') {
      writeFileSync(path, cases.map((one) => `=== ${one.head}\n${one.source}---\n${found(one)}`).join(''));
      return;
    }
    for (const one of cases) it(one.head, () => { assert.equal(found(one), one.expected); });

    it('names stand where they are said to stand', () => {
      for (const { file, source } of cases) {
        for (const agent of detect(file, source)) {
          const text = source.slice(agent.from, agent.to);
          if (agent.name !== 'default') assert.equal(text, agent.name.split('.').at(-1));
          assert.equal(source.slice(0, agent.from).split('\n').length - 1, agent.line);
        }
      }
    });
  });
}

describe('sources in the middle of an edit', () => {
  for (const [golden, fallback] of [['python.txt', 'a.py'], ['script.txt', 'a.ts']] as const) {
    it(`any beginning of the sources of ${golden} can be read`, () => {
      for (const { file, source } of casesOf(join(import.meta.dirname, '..', '..', 'fixtures', 'detect', golden), fallback)) {
        const names = new Set(detect(file, source).map((agent) => agent.name));
        for (let end = 0; end < source.length; end += 29) for (const agent of detect(file, source.slice(0, end))) assert.ok(agent.to <= end && agent.name.length > 0);
        assert.deepEqual(new Set(detect(file, `${source}\n\n`).map((agent) => agent.name)), names);
      }
    });
  }

  it('definitions that lead back to themselves end', () => {
    assert.deepEqual(detect('a.py', 'import openai\nclass A(A): pass\ndef f(): return f()\ndef g(x):\n  x = x\n  x = [x, g(x)]\n  return f().responses.create(x).chat(A().x)\n').map(({ name }) => name), ['g']);
    assert.deepEqual(detect('a.ts', "import OpenAI from 'openai';\nconst f = () => g(); const g = () => f();\nexport function h(x) { x = x + x; return f().chat.completions.create(x); }\n").map(({ name }) => name), ['h']);
  });

  it('generated code that is nested deeply is left alone', () => {
    assert.deepEqual(detect('a.ts', `import OpenAI from 'openai';\nexport const x = ${'['.repeat(5000)}${']'.repeat(5000)}; new OpenAI().responses.create({});`), []);
    assert.deepEqual(detect('a.py', `import openai\nx = ${'('.repeat(3000)}1${')'.repeat(3000)}\nopenai.responses.create(${'1+'.repeat(20_000)}1)`), []);
  });
});
