import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { convertVerl } from '../../../trainer/export/verl/convert.ts';
import { openShard } from '../../../trainer/export/verl/shard.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { bfloat16ToFloat32, float32ToBfloat16 } from '../../../trainer/models/half.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { findTransformers } from '../../fixtures/transformers.ts';
import { smallWeights } from '../../unit/models/small-model.ts';

const { config, tokenizer } = tinyFamilies['Qwen3']!;
const checkpoints = {
  'three ranks with uneven parts': { mesh: [3], names: ['fsdp'], dim: 0, dtype: 'float32' },
  'more ranks than some tensors have rows': { mesh: [40], names: ['fsdp'], dim: 0, dtype: 'float32' },
  'two replicas of two ranks, in bfloat16': { mesh: [2, 2], names: ['ddp', 'fsdp'], dim: 0, dtype: 'bfloat16' },
  'cut along the columns': { mesh: [2], names: ['fsdp'], dim: 1, dtype: 'float32' },
};

describe('convert verl', () => {
  let folder: string;
  let source: string;
  const at = (name: string) => path.join(folder, name);
  before(async function () {
    this.timeout(180_000);
    const found = await findTransformers();
    if ('missing' in found || process.platform === 'win32') {
      process.stdout.write(`      ${'missing' in found ? found.missing : 'The checkpoints are written by processes that fork.'}\n`);
      return this.skip();
    }
    folder = mkdtempSync(path.join(tmpdir(), 'verl-'));
    source = at('source');
    mkdirSync(source);
    await saveModel(source, { config, weights: smallWeights(config, 1, 0.1) });
    writeFileSync(path.join(source, 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
    writeFileSync(path.join(source, 'tokenizer_config.json'), JSON.stringify(tokenizer.config));
    const hostile = { ...checkpoints['cut along the columns'], command: `touch ${at('was-run')}` };
    const jobs = Object.entries({ ...checkpoints, hostile }).map(([name, job]) => ({ source, out: path.join(at(name), 'actor'), ...job }));
    for (const { out } of jobs) cpSync(source, path.join(out, 'huggingface'), { recursive: true, filter: (file) => !file.endsWith('.safetensors') });
    const { status, stderr } = spawnSync(found.python, [path.join(import.meta.dirname, '..', '..', 'fixtures', 'verl-checkpoint.py')], { input: JSON.stringify(jobs), encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });
  after(() => { if (folder) rmSync(folder, { recursive: true }); });

  for (const [name, { dtype }] of Object.entries(checkpoints)) {
    it(`${name}: the weights that were saved, bit for bit, with configuration and tokenizer`, async () => {
      const out = `${at(name)}-merged`;
      await convertVerl(at(name), out);
      const [before, after] = [await loadModel(source), await loadModel(out)];
      const expected = dtype === 'bfloat16' ? bfloat16ToFloat32(float32ToBfloat16(before.weights.flat)) : before.weights.flat;
      assert.deepEqual(after.config, before.config);
      assert.equal(Buffer.compare(Buffer.from(after.weights.flat.buffer), Buffer.from(expected.buffer)), 0);
      assert.equal((JSON.parse(readFileSync(path.join(out, 'config.json'), 'utf8')) as { torch_dtype: string }).torch_dtype, dtype);
      assert.ok((await openTokenizer(out, config.vocab)).encode('the rain').length > 0);
    });
  }

  it('refuses a file that names a program to run, and runs nothing', async () => {
    await assert.rejects(convertVerl(at('hostile'), at('none')), /rank_0\.pt cannot be converted: it names (posix|nt)\.system, which has no place in a file of weights/);
    assert.ok(!existsSync(at('was-run')) && !existsSync(at('none')));
  });

  it('a file damaged anywhere is read or refused with its name, whatever the damage', async () => {
    const whole = readFileSync(path.join(at('cut along the columns'), 'actor', 'model_world_size_2_rank_0.pt'));
    const described = [...Array(3000).keys()].filter((i) => i % 7 === 0).concat([...Array(2000).keys()].map((i) => whole.length - 1 - i).filter((i) => i % 5 === 0));
    const file = at('damaged.pt');
    let refused = 0;
    for (const [i, position] of described.entries()) {
      const damaged = Buffer.from(whole);
      damaged[position] = (damaged[position]! + 1 + i * 37) & 255;
      writeFileSync(file, damaged);
      await openShard(file).then((shard) => shard.close(), (error: unknown) => {
        assert.ok(error instanceof TrainerError && error.message.startsWith(file), `byte ${position}: ${String(error)}`);
        refused++;
      });
    }
    assert.ok(refused > 100, `${refused} refused`);
  }).timeout(60_000);

  it('names a rank that is missing, and a file that is damaged', async () => {
    const broken = at('broken');
    cpSync(at('three ranks with uneven parts'), broken, { recursive: true });
    const second = path.join(broken, 'actor', 'model_world_size_3_rank_1.pt');
    renameSync(second, `${second}.away`);
    await assert.rejects(convertVerl(broken, at('none')), /There is no .*rank_1\.pt/);
    renameSync(`${second}.away`, second);
    truncateSync(second, 5000);
    await assert.rejects(convertVerl(broken, at('none')), /rank_1\.pt cannot be converted: it is no zip archive/);
    await assert.rejects(convertVerl(source, at('none')), /holds no checkpoint of verl/);
  });
});
