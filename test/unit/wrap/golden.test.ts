import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unwrapped, wrap } from './support.ts';

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'wrap');
const divider = '==== after\n';

/** Each file: a first line `file name, function`, the source, and what wrapping makes of it. UPDATE_GOLDEN=1 writes the second part anew. */
describe('wrapping, by golden texts', () => {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.txt')).sort()) {
    it(name.replace('.txt', ''), () => {
      const path = join(folder, name);
      const [input = '', expected = ''] = readFileSync(path, 'utf8').split(divider);
      const header = input.slice(0, input.indexOf('\n'));
      const source = input.slice(header.length + 1);
      const [fileName = '', target = ''] = header.split(', ');
      const after = wrap(fileName, source, target);
      if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, `${header}\n${source}${divider}${after.text}`);
      else assert.equal(after.text, expected);
      assert.equal(unwrapped(fileName, after.text, after.plan.agent, after.record).text, source);
    });
  }
});
