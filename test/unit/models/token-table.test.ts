import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TokenReader } from '../../../trainer/models/token-table.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';

describe('a table of tokens', () => {
  for (const name of ['Qwen2.5', 'Gemma 3']) {
    it(`reads every token as the tokenizer of ${name} does, also in another thread`, async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'tokens-'));
      try {
        const { tokenizer: { tokenizer, config }, config: { vocab } } = tinyFamilies[name]!;
        writeFileSync(path.join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
        writeFileSync(path.join(folder, 'tokenizer_config.json'), JSON.stringify(config));
        const opened = await openTokenizer(folder, vocab);
        const reader = new TokenReader(structuredClone(opened.table()));
        for (let id = 0; id < vocab + 3; id++) assert.deepEqual(Buffer.from(reader.bytesOf(id)), Buffer.from(opened.bytesOf(id)), `${id}`);
        const ids = Array.from({ length: vocab }, (_, i) => (i * 7) % vocab);
        const detokenizer = reader.detokenizer();
        assert.equal(ids.map((id) => detokenizer.push(id)).join('') + detokenizer.end(), opened.decode(ids));
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
