import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { saveModel } from '../../../trainer/models/model-folder.ts';
import { smallWeights } from '../../unit/models/small-model.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';

const cli = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));
const tsx = fileURLToPath(import.meta.resolve('tsx'));
const block = 512;

/** The limit of the shell for the size of files makes writes short as a full disk does: a part of the last one is taken, without an error. */
describe('exports that run out of room within their last tensor', function () {
  this.timeout(240_000);
  let folder: string;
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    folder = mkdtempSync(path.join(tmpdir(), 'no room-'));
    const { config: tiny, tokenizer } = tinyFamilies['Qwen2.5']!;
    const config = { ...tiny, layers: 1, hidden: block / 2, headDim: block / 2 / tiny.heads }; // so that the last tensor, a vector, is longer than a block
    mkdirSync(path.join(folder, 'model'));
    await saveModel(path.join(folder, 'model'), { config, weights: smallWeights(config) });
    writeFileSync(path.join(folder, 'model', 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
    writeFileSync(path.join(folder, 'model', 'tokenizer_config.json'), JSON.stringify(tokenizer.config));
  });
  after(() => { if (folder) rmSync(folder, { recursive: true }); });

  const exported = (format: string, out: string, limit: string) => new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const args = ['-c', `ulimit -f ${limit}; exec "$0" --import "$1" "$2" export model --format ${format} --out "${out}"`, process.execPath, tsx, cli];
    execFile('/bin/sh', args, { cwd: folder, encoding: 'utf8' }, (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }));
  });
  const largest = (place: string): number => (statSync(place).isDirectory() ? Math.max(...readdirSync(place).map((name) => statSync(path.join(place, name)).size)) : statSync(place).size);

  for (const [format, type] of [['hf', 'bf16'], ['gguf', 'f32'], ['ollama', 'f32'], ['onnx', 'f32']] as const) {
    it(`${format}: one sentence, and nothing is there that looks complete`, async () => {
      const whole = await exported(`${format} --type ${type}`, `whole ${format}`, 'unlimited');
      assert.equal(whole.code, 0, whole.stderr);
      const blocks = Math.ceil(largest(path.join(folder, `whole ${format}`)) / block) - 1;
      const { code, stdout, stderr } = await exported(`${format} --type ${type}`, `cut ${format}`, String(blocks));
      assert.equal(code, 1, stdout);
      assert.match(stderr, /^agent-trainer: .*could not be written: files of this size are not allowed there\. Choose another place\.\n$/);
      assert.ok(!existsSync(path.join(folder, `cut ${format}`)));
      assert.deepEqual(readdirSync(folder).filter((name) => name.includes('.tmp-')), []);
    });
  }
});
