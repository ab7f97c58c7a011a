import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { checkConfig } from '../../../trainer/runs/config-file.ts';

const root = new URL('../../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, root), 'utf8').replaceAll('\r\n', '\n');
const base = { agent: 'agent.ts', data: { train: 'tasks.jsonl' }, model: { path: 'my-model' } };

describe('settings that the documentation shows', () => {
  const rows = [...read('docs/algorithms.md').matchAll(/^\| ([^|\n]+) \| (?:`(".*)`|–) \|$/gm)];

  it('are found', () => assert.equal(rows.length, 9));

  for (const [, name, settings = ''] of rows) {
    it(`make a valid configuration: ${name}`, () => { checkConfig({ ...base, grpo: JSON.parse(`{${settings}}`) as unknown, sampling: { max_tokens: 8192 } }, name!); });
  }

  for (const file of ['README.md', 'docs/algorithms.md']) {
    const blocks = [...read(file).matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
    const examples = blocks.flatMap((block) => (/^\{$/m.test(block) ? [block] : block.trim().split('\n')));
    it(`are found in ${file}`, () => assert.ok(examples.length > 0));
    for (const example of examples) {
      it(`are valid in ${file}: ${example.replace(/\s+/g, ' ')}`, () => { checkConfig({ ...base, ...(JSON.parse(example) as object) }, file); });
    }
  }
});
