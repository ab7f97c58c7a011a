import assert from 'node:assert/strict';
import { candidatesOf, wrapped } from '../../../src/wrap/plan.ts';
import { planOf, refusalOf } from './support.ts';

describe('what cannot be made trainable is refused with a reason', () => {
  const ask = 'client.chat.completions.create(model="m", messages=[])';
  const cases: [string, string, string, string, RegExp][] = [
    ['a method in Python', 'a.py', `class A:\n    def run(self, task):\n        return ${ask}\n`, 'run', /move run out of its class/],
    ['a generator in Python', 'a.py', `def run(task):\n    yield ${ask}\n`, 'run', /is a generator/],
    ['a parameter llm', 'a.py', `def run(task, llm):\n    return ${ask}\n`, 'run', /parameter llm of its own/],
    ['a name llm of the module', 'a.py', `from own import llm\ndef run(task):\n    return llm(task)\n`, 'run', /name llm of the module/],
    ['an agent', 'a.py', 'from agent_trainer import rollout\n@rollout\ndef run(task, llm): ...\n', 'run', /trainable already/],
    ['a broken function', 'a.py', 'def run(task):\n    return (\n', 'run', /does not parse/],
    ['no function', 'a.py', 'x = 1\n', 'run', /no function at this place/],
    ['another language', 'a.rs', 'fn run() {}', 'run', /Python, TypeScript and JavaScript/],
    ['a function in a function', 'a.ts', 'export function make() { const run = () => 1; }', 'run', /move run to the top/],
    ['two parameters', 'a.ts', 'export async function run(task: Task, options: Options) { return 1; }', 'run', /second parameter of an agent/],
    ['any number of arguments', 'a.ts', 'export const run = (...tasks) => 1;', 'run', /any number of arguments/],
    ['overloads', 'a.ts', 'export function run(a: string): void;\nexport function run(a: number): void;\nexport function run(a: any) {}', 'run', /overloads/],
    ['a generator', 'a.ts', 'export async function* run(task: Task) {}', 'run', /is a generator/],
    ['a use above the definition', 'a.ts', 'export const all = [run];\nfunction run(task: Task) { return 1; }', 'run', /used above its definition/],
    ['a static method', 'a.ts', 'export class A { static run(task: Task) { return 1; } }', 'A.run', /ordinary methods/],
    ['a method of a class that is not exported', 'a.ts', 'class A { run(task: Task) { return 1; } }', 'A.run', /not exported/],
    ['a method in JavaScript', 'a.mjs', 'export class A { run(task) { return 1; } }', 'A.run', /decorator, which JavaScript does not know/],
    ['a function that CommonJS exports before it is defined', 'a.cjs', 'module.exports = { run };\nasync function run(task) { return 1; }', 'run', /used above its definition/],
    ['a function beside the one that CommonJS exports as a whole', 'a.cjs', 'async function run(task) { return 1; }\nmodule.exports = make(1);', 'run', /exports something else as a whole/],
    ['a method of the object that CommonJS exports', 'a.cjs', 'module.exports = { async run(task) { return 1; } };', 'run', /move run to the top/],
  ];
  for (const [what, file, text, name, reason] of cases) it(what, () => { assert.match(refusalOf(file, text, name), reason); });

  it('what has to be known is noted: parameters a run does not fill, services that cannot be reached', () => {
    const text = 'import anthropic\nclient = anthropic.Anthropic()\ndef run(task, context, k=1):\n    return client.messages.create(model="claude", messages=[])\n';
    const { notes, edits } = planOf('a.py', text, 'run');
    assert.match(notes.join('\n'), /as task and nothing for context[^]*behind Anthropic cannot be reached/);
    assert.equal(edits.filter(({ part }) => part === 'pointing').length, 0);
  });

  it('what has to be known is noted: who calls the function, which has a parameter more from now on', () => {
    const python = `def run(task):\n    return ${ask} or run(task)\ndef main():\n    return run(1) + run(2)\nprint(run(3), other.run(4))\n`;
    assert.match(planOf('a.py', python, 'run').notes.join('\n'), /^run is called by main, the module, which hands in no model/);
    assert.deepEqual(planOf('a.py', python, 'main').notes, []);
    assert.match(planOf('a.ts', 'export async function run(task: Task) { return 1; }\nexport const main = () => run(1);\n', 'run').notes.join('\n'), /^run is called by main,/);
  });

  it('overloads in Python are no functions: their implementation is', () => {
    const text = `import typing\n@typing.overload\ndef run(task: str) -> str: ...\ndef run(task):\n    return ${ask}\n`;
    assert.deepEqual(candidatesOf('a.py', `from openai import OpenAI\nclient = OpenAI()\n${text}`).map(({ target }) => target.parameters.from > text.indexOf('...')), [true]);
    assert.match(wrapped(text, planOf('a.py', text, 'run')), /@rollout\ndef run\(task, llm\):/);
  });
});
