import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkAgents } from '../../../src/diagnostics/check.ts';
import { datasetsOf } from '../../../src/diagnostics/find-datasets.ts';
import { l10n } from '../wrap/support.ts';
import { check, python } from './support.ts';

const samples = join(import.meta.dirname, '..', '..', '..', 'examples', 'sql-agent');

describe('checking agents', () => {
  for (const name of ['agent.py', 'agent.ts']) {
    it(`finds nothing wrong with the sample agent ${name} and its data`, async () => {
      const file = join(samples, name);
      const result = await checkAgents({ l10n, fileName: file, text: readFileSync(file, 'utf8'), dataOf: () => datasetsOf(join(samples, 'agent.ts'), 'sqlAgent', samples), breathe: async () => false });
      assert.deepEqual(result?.findings, []);
      assert.deepEqual(result?.rows.map(({ findings }) => findings), [[], []]);
    });
  }

  it('stops between two steps when nobody wants the result any more', async () => {
    let steps = 0;
    const result = await checkAgents({ l10n, fileName: 'a.py', text: python('return 1.0'), dataOf: async () => [], breathe: async () => ++steps === 3 });
    assert.deepEqual([result, steps], [null, 3]);
  });

  it('survives any broken text', async () => {
    const text = python('messages = [{"role": "user", "content": f"{task["answer"]}"}]\nreturn "{".format(x=1)');
    for (let length = 0; length < text.length; length += 7) await check('a.py', text.slice(0, length));
  });

  it('does not look at functions that are no agents', async () => {
    assert.deepEqual((await check('a.py', python('return').replace('@rollout\n', ''))).findings, []);
  });
});
