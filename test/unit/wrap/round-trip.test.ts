import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { candidatesOf } from '../../../src/wrap/plan.ts';
import { planWrap } from '../../../src/wrap/plan.ts';
import { generatedSource } from './generated-sources.ts';
import { l10n, unwrapped, wrap } from './support.ts';

const root = join(import.meta.dirname, '..', '..', '..');

describe('wrap, then unwrap', function () {
  this.timeout(120_000);

  for (const language of ['python', 'typescript', 'javascript', 'commonjs'] as const) {
    it(`gives back the bytes of generated ${language} sources, one function or several, in any order`, () => {
      fc.assert(fc.property(generatedSource(language), fc.boolean(), ({ fileName, text, functions }, lastFirst) => {
        let current = text;
        let record: Parameters<typeof wrap>[3];
        const agents: string[] = [];
        for (const name of functions) {
          const step = wrap(fileName, current, name, record);
          current = step.text;
          record = step.record;
          agents.push(step.plan.agent);
        }
        for (const agent of lastFirst ? agents.reverse() : agents) {
          const step = unwrapped(fileName, current, agent, record ?? assert.fail());
          current = step.text;
          record = step.record;
        }
        assert.equal(current, text);
      }), { numRuns: 100 });
    });
  }

  it('gives back the bytes of a function whose first wrap was undone in the editor', () => {
    fc.assert(fc.property(generatedSource('python'), ({ fileName, text, functions: [name = ''] }) => {
      const undone = wrap(fileName, text, name);
      const again = wrap(fileName, text, name, undone.record);
      assert.equal(unwrapped(fileName, again.text, again.plan.agent, again.record).text, text);
    }), { numRuns: 50 });
  });

  it('keeps what the user changed meanwhile', () => {
    fc.assert(fc.property(generatedSource('python'), fc.integer({ min: 1, max: 5 }), ({ fileName, text, functions }, lines) => {
      const added = '# a note\n'.repeat(lines);
      const [name = ''] = functions;
      const { text: after, plan, record } = wrap(fileName, text, name);
      assert.equal(unwrapped(fileName, `${after}${added}`, plan.agent, record).text, `${text}${added}`);
    }), { numRuns: 50 });
  });

  it('works on every function of the runtimes’ test agents and the sample agents that can be wrapped', () => {
    let wrappedFunctions = 0;
    for (const folder of ['test/fixtures/agents', 'examples/sql-agent', 'runtime/python/agent_trainer']) {
      for (const name of readdirSync(join(root, folder)).filter((each) => /\.(py|ts)$/.test(each))) {
        const text = readFileSync(join(root, folder, name), 'utf8');
        for (const target of functionNames(name, text)) {
          for (const variant of [text, text.replaceAll('\n', '\r\n')]) {
            if (planWrap(l10n, name, variant, { line: 0, name: target }).kind === 'refusal') continue;
            const { text: after, plan, record } = wrap(name, variant, target);
            assert.equal(unwrapped(name, after, plan.agent, record).text, variant, `${folder}/${name}: ${target}`);
            if (variant.includes('\r\n')) assert.ok(!after.replaceAll('\r\n', '').includes('\n'), 'only the file’s own line endings');
            wrappedFunctions++;
          }
        }
      }
    }
    assert.ok(wrappedFunctions > 60, `only ${wrappedFunctions} functions`);
  });

  it('refuses when what was wrapped is not there any more', () => {
    const text = 'from openai import OpenAI\nclient = OpenAI()\ndef ask(task):\n    return client.chat.completions.create(model="gpt-4o", messages=[])\n';
    const { text: after, plan, record } = wrap('a.py', text, 'ask');
    const changed = after.replace('model=llm.model', 'model=pick(llm)');
    assert.throws(() => unwrapped('a.py', changed, plan.agent, record), /cannot be unwrapped/);
  });

  it('finds candidates by their calls, and those that call them', () => {
    const text = 'from openai import OpenAI\nclient = OpenAI()\ndef ask(m):\n    return client.chat.completions.create(model="m", messages=m)\ndef agent(task):\n    return len(ask([task]))\ndef other(): ...\n';
    assert.deepEqual(candidatesOf('a.py', text).map(({ target, direct }) => [target.name, direct]), [['ask', true], ['agent', false]]);
  });
});

function functionNames(fileName: string, text: string): string[] {
  const names: string[] = [];
  for (const line of text.split('\n')) {
    const match = fileName.endsWith('.py') ? /^(?:async )?def (\w+)/.exec(line) : /^(?:export )?(?:async )?(?:function (\w+)|const (\w+) = (?:async )?\()/.exec(line);
    const name = match?.[1] ?? match?.[2];
    if (name !== undefined && !names.includes(name)) names.push(name);
  }
  return names;
}
