import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { transformSync } from 'esbuild';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import { nodesOf, parseSource } from '../../../trainer/source/syntax.ts';
import { applyPrompt } from '../../../trainer/prompts/apply-prompt.ts';
import { unfilled } from '../../../trainer/prompts/engines.ts';
import type { Filling } from '../../../trainer/prompts/engines.ts';
import { readPrompt } from '../../../trainer/prompts/read-prompt.ts';
import { applyEdits } from '../../../trainer/prompts/text-edit.ts';
import { literalCases } from '../../fixtures/prompts/literals.ts';
import type { LiteralCase } from '../../fixtures/prompts/literals.ts';

const runs = 600;

/** The prompt of a file that holds one: the widest literal of the statement `PROMPT = …`. */
function promptIn(file: string, text: string, filling: Filling = unfilled): Prompt {
  const source = parseSource(file, text);
  assert(source !== null);
  const from = text.indexOf('PROMPT = ');
  const nodes = nodesOf(source.root, ['String', 'FormatString', 'ContinuedString', 'TemplateString', 'BinaryExpression']).filter((node) => node.from > from).sort((a, b) => b.to - b.from - (a.to - a.from));
  for (const node of nodes) {
    const read = readPrompt(source, node, filling);
    if (read === null) continue;
    const { syntax, engine, variables } = read;
    return { prompt_id: `${file}#PROMPT`, name: 'PROMPT', file, syntax, engine, from: node.from, to: node.to, line: 1, text: read.text, variables, agents: [] };
  }
  assert.fail(`no literal in ${text}`);
}

function applied(text: string, prompt: Prompt, newText: string): string {
  const edits = applyPrompt(text, prompt, newText);
  assert.equal(edits.length, 1);
  return applyEdits(text, edits);
}

function check(file: string, { before, code, after, filling }: LiteralCase, newText: (prompt: Prompt) => string): { text: string; wanted: string; prompt: Prompt } {
  const text = before + code + after;
  const prompt = promptIn(file, text, filling);
  const wanted = newText(prompt);
  const result = applied(text, prompt, wanted);
  const again = promptIn(file, result, filling);
  assert.equal(again.text, wanted, result);
  assert(result.startsWith(before) && result.endsWith(after), result);
  return { text: result, wanted, prompt };
}

describe('writing a new text into a literal', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prompts-'));
  after(() => rmSync(folder, { recursive: true }));

  it(`Python: what is read back is the new text, and Python reads the same (${runs} literals)`, function () {
    this.timeout(60_000);
    const files: { path: string; wanted: string }[] = [];
    fc.assert(fc.property(literalCases('python'), ({ literal, newText }) => {
      const { text, wanted, prompt } = check('agent.py', literal, newText);
      const path = join(folder, `${files.length}.py`);
      writeFileSync(path, text);
      files.push({ path, wanted: valued(wanted, prompt, literal) });
    }), { numRuns: runs, seed: 7 });
    writeFileSync(join(folder, 'cases.json'), JSON.stringify(files));
    const wrong = execFileSync('python3', [new URL('../../fixtures/prompts/evaluate.py', import.meta.url).pathname, join(folder, 'cases.json')], { encoding: 'utf8' });
    assert.equal(wrong, '');
  });

  it(`TypeScript: what is read back is the new text, and JavaScript reads the same (${runs} literals)`, function () {
    this.timeout(60_000);
    fc.assert(fc.property(literalCases('node'), ({ literal, newText }) => {
      const { text, wanted, prompt } = check('agent.ts', literal, newText);
      const { code } = transformSync(text, { loader: 'ts', format: 'cjs' });
      const value: unknown = runInNewContext(`${code}; PROMPT`);
      assert.equal(value, valued(wanted, prompt, literal), text);
    }), { numRuns: runs, seed: 7 });
  });
});

/** What the program makes of a text: every variable filled in. */
function valued(text: string, { variables }: Prompt, { values }: LiteralCase): string {
  const longestFirst = variables.map(({ placeholder }) => placeholder).sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return text;
  const pattern = new RegExp(longestFirst.map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
  return text.replace(pattern, (placeholder) => values[placeholder] ?? assert.fail(placeholder));
}
