import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { convertVerl } from '../../../trainer/export/verl/convert.ts';
import { openShard } from '../../../trainer/export/verl/shard.ts';
import { readAdapter } from '../../../trainer/models/adapter-folder.ts';
import { addFactors } from '../../../trainer/models/lora.ts';
import { loadParameters } from '../../../trainer/models/weights.ts';
import { loraTargets } from '../../../trainer/protocol/lora-config.ts';
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

const lora = {
  'LoRA on three ranks': { mesh: [3], names: ['fsdp'], dim: 0, dtype: 'float32', lora: { r: 4, lora_alpha: 16, target_modules: ['v_proj', 'down_proj'] } },
  'LoRA in bfloat16': { mesh: [2], names: ['fsdp'], dim: 0, dtype: 'bfloat16', lora: { r: 3, lora_alpha: 8, target_modules: [...loraTargets] } },
  'LoRA saved alone': { mesh: [2], names: ['fsdp'], dim: 0, dtype: 'float32', lora: { r: 4, lora_alpha: 16, target_modules: ['q_proj'] }, alone: true },
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
    const jobs = Object.entries({ ...checkpoints, ...lora, hostile }).map(([name, job]) => ({ source, out: path.join(at(name), 'actor'), ...job }));
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

  for (const name of ['LoRA on three ranks', 'LoRA in bfloat16'] as const) {
    it(`${name}: the model as PEFT merges it, and its adapter beside it`, async () => {
      const { dtype, lora: { r, lora_alpha, target_modules } } = lora[name];
      const out = `${at(name)}-merged`;
      await convertVerl(at(name), out);
      const [base, expected, { config: read, weights }] = [await loadModel(source), await loadParameters(path.join(at(name), 'actor', 'merged'), config), await loadModel(out)];
      assert.deepEqual(read, base.config);
      for (const [tensor, { data }] of weights.tensors) {
        const most = data.reduce((far, value, i) => Math.max(far, Math.abs(value - expected.tensors.get(tensor)!.data[i]!) / Math.max(Math.abs(value), 0.01)), 0);
        assert.ok(most <= (dtype === 'float32' ? 1e-5 : 2 ** -8), `${tensor}: ${most}`);
      }
      assert.ok(weights.flat.some((value, i) => Math.abs(value - base.weights.flat[i]!) > 0.01), 'the factors matter');
      assert.equal((JSON.parse(readFileSync(path.join(out, 'config.json'), 'utf8')) as { torch_dtype: string }).torch_dtype, dtype);
      const { settings, factors } = await readAdapter(path.join(out, 'adapter'), config);
      assert.deepEqual(settings, { rank: r, alpha: lora_alpha, targets: loraTargets.filter((target) => target_modules.includes(target)), rslora: false });
      if (dtype === 'float32') for (const [tensor, value] of base.weights.tensors) {
        addFactors(tensor, value, { settings, factors });
        assert.deepEqual(value.data, weights.tensors.get(tensor)!.data, tensor);
      }
    });
  }

  it('LoRA saved alone becomes an adapter, which is the whole model once it says what it is for', async () => {
    const out = at('adapter-alone');
    await convertVerl(at('LoRA saved alone'), out);
    assert.deepEqual(readdirSync(out).filter((file) => /adapter|model/.test(file)).sort(), ['adapter_config.json', 'adapter_model.safetensors']);
    const file = path.join(out, 'adapter_config.json');
    await assert.rejects(loadModel(out), /adapter_config.json: base_model_name_or_path names no model/);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), base_model_name_or_path: source }));
    const [{ weights }, expected] = [await loadModel(out), await loadParameters(path.join(at('LoRA saved alone'), 'actor', 'merged'), config)];
    weights.flat.forEach((value, i) => assert.ok(Math.abs(value - expected.flat[i]!) < 1e-6));
  });

  it('LoRA whose settings are missing or do not fit is refused', async () => {
    const broken = at('broken-lora');
    cpSync(at('LoRA on three ranks'), broken, { recursive: true });
    const meta = path.join(broken, 'actor', 'lora_train_meta.json');
    writeFileSync(meta, JSON.stringify({ r: 5, lora_alpha: 16 }));
    await assert.rejects(convertVerl(broken, at('none')), /lora_A\.default\.weight" has shape \[4, \d+\], but lora_train_meta\.json says that the rank is 5/);
    writeFileSync(meta, JSON.stringify({ r: 4 }));
    await assert.rejects(convertVerl(broken, at('none')), /lora_train_meta\.json: .*lora_alpha/);
    rmSync(meta);
    await assert.rejects(convertVerl(broken, at('none')), /holds a LoRA adapter, and no lora_train_meta\.json/);
  });

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
