import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { saveGguf } from '../../../trainer/models/gguf/save.ts';
import { cachedModel, fetchModel } from '../../../trainer/models/hub/fetch-model.ts';
import { parseHubReference } from '../../../trainer/models/hub/reference.ts';
import { writeAdapter } from '../../../trainer/models/adapter-folder.ts';
import { addFactors, type LoraSettings } from '../../../trainer/models/lora.ts';
import { loadModel } from '../../../trainer/models/model-folder.ts';
import { readTokenizerFiles } from '../../../trainer/models/tokenizer-files.ts';
import { namedModel } from '../../../trainer/policy/named-model.ts';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';
import { tokenTexts } from '../../../trainer/policy/token-texts.ts';
import { randomFactors } from '../../fixtures/lora.ts';
import { HubServer } from '../../fixtures/hub-server.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { smallWeights } from '../../unit/models/small-model.ts';

const model = 'hf:owner/name';

describe('models of the Hugging Face hub', () => {
  let folder: string;
  let hub: HubServer;
  let kept: Record<string, string | undefined>;
  const cache = () => path.join(folder, 'cache');
  const blobs = () => readdirSync(path.join(cache(), 'models--owner--name', 'blobs'));

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'hub-'));
    await makeTinyPolicy(path.join(folder, 'origin'));
    hub = new HubServer(readdirSync(path.join(folder, 'origin')).map((name) => [name, readFileSync(path.join(folder, 'origin', name))]));
    await hub.start();
    const variables = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache(), HF_HOME: folder, HF_TOKEN: '' };
    kept = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
    Object.assign(process.env, variables);
  });
  afterEach(() => {
    for (const [name, value] of Object.entries(kept)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    hub.stop();
    rmSync(folder, { recursive: true });
  });
  const refuses = (message: RegExp) => assert.rejects(fetchModel(model), (error: Error) => {
    assert.match(error.message, message);
    return error.name === 'TrainerError';
  });

  it('are downloaded once, into the cache that other programs use, and open as policies', async () => {
    const progress: [number, number][] = [];
    const [at, again] = await Promise.all([fetchModel(model, { onProgress: (...step) => progress.push(step) }), fetchModel(model)]);
    assert.equal(at, again);
    assert.equal(at, path.join(cache(), 'models--owner--name', 'snapshots', hub.commit));
    assert.equal(readFileSync(path.join(cache(), 'models--owner--name', 'refs', 'main'), 'utf8'), hub.commit);
    assert.deepEqual(await loadModel(at), await loadModel(path.join(folder, 'origin')));
    const [received, total] = progress.at(-1)!;
    assert.equal(received, total);
    hub.stop(); // from here on without the network
    const policy = await openPolicy(model, { threads: 1 });
    assert.deepEqual(await policy.chat.models(), ['name']);
    await policy.close();
    assert.deepEqual(await tokenTexts(model, [70]), await tokenTexts(path.join(folder, 'origin'), [70]));
  });

  it('are taken up where the connection broke', async () => {
    const size = hub.files.get('model.safetensors')!.length;
    let breaks = 6; // more often than a server may fail without sending anything
    hub.faults.breakAfter = () => (breaks-- > 0 ? Math.floor(size / 8) : null);
    const at = await fetchModel(model);
    assert.deepEqual(readFileSync(path.join(at, 'model.safetensors')), hub.files.get('model.safetensors'));
    const ranges = hub.ranges.filter(([name]) => name === 'model.safetensors').map(([, range]) => range);
    assert.equal(ranges.length, 7);
    assert.equal(ranges[0], undefined);
    assert.ok(ranges.slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(range!)), ranges.join());
  });

  it('are not there while a part is missing, and a later call takes the part up', async () => {
    const size = hub.files.get('model.safetensors')!.length;
    let sent = false;
    hub.faults.breakAfter = () => (sent ? 0 : (sent = true, Math.floor(size / 2)));
    await refuses(/could not be reached for model.safetensors: .*What has arrived is kept; run it again/);
    assert.equal(cachedModel(model), null);
    assert.ok(!existsSync(path.join(cache(), 'models--owner--name', 'snapshots')));
    assert.equal(blobs().filter((name) => name.endsWith('.incomplete')).length, 1);
    hub.faults.breakAfter = null;
    hub.ranges.length = 0;
    await loadModel(await fetchModel(model));
    assert.deepEqual(hub.ranges, [['model.safetensors', `bytes=${Math.floor(size / 2)}-`]]);
    assert.ok(blobs().every((name) => !name.endsWith('.incomplete')));
  }).timeout(60_000);

  it('begin anew where a server cannot send a part', async () => {
    let breaks = 1;
    hub.faults.breakAfter = () => (breaks-- > 0 ? 100 : null);
    hub.faults.ignoreRange = true;
    assert.deepEqual(readFileSync(path.join(await fetchModel(model), 'model.safetensors')), hub.files.get('model.safetensors'));
  });

  it('that arrive damaged are deleted', async () => {
    hub.faults.damage = true;
    await refuses(/model.safetensors from the Hugging Face hub arrived damaged: its SHA-256 is [0-9a-f]{64} instead of [0-9a-f]{64}. It was deleted/);
    assert.equal(cachedModel(model), null);
    assert.ok(blobs().every((name) => !name.endsWith('.incomplete')));
    hub.faults.damage = false;
    await loadModel(await fetchModel(model));
  });

  it('need a token when they are not public; only the hub itself sees it', async () => {
    hub.token = 'hf_secret';
    await refuses(/does not give out owner\/name \(401\): it does not exist, or is not public. .*in HF_TOKEN, or in VS Code/);
    process.env['HF_TOKEN'] = 'hf_secret';
    await loadModel(await fetchModel(model));
    assert.deepEqual(hub.leaked, []);
  });

  it('are found by the name that PEFT gives the model of an adapter', async () => {
    const origin = await loadModel(path.join(folder, 'origin'));
    const lora: LoraSettings = { rank: 2, alpha: 4, targets: ['q_proj'], rslora: false };
    const adapter = { settings: lora, factors: randomFactors(origin.config, lora) };
    const place = path.join(folder, 'adapter');
    mkdirSync(place);
    await writeAdapter(place, adapter, 'owner/name');
    assert.throws(() => namedModel(place, '/'), /holds a LoRA adapter and no config.json\. Name it as model.lora_adapter_path .* or copy config.json/);
    for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json']) copyFileSync(path.join(folder, 'origin', name), path.join(place, name));
    assert.equal(namedModel(place, '/'), place);
    const merged = await loadModel(place);
    for (const [name, tensor] of origin.weights.tensors) addFactors(name, tensor, adapter);
    assert.deepEqual(merged.weights, origin.weights);
  });

  it('that cannot be trained are refused before their weights are downloaded', async () => {
    hub.files.set('config.json', Buffer.from(JSON.stringify({ model_type: 'mixtral', num_local_experts: 8 })));
    await refuses(/config.json of owner\/name: mixtral: mixture of experts is not supported/);
    assert.ok(hub.ranges.every(([name]) => name !== 'model.safetensors'));
  });

  it('may be a GGUF file among others', async () => {
    const { config, tokenizer } = tinyFamilies['Gemma 3']!;
    await saveGguf(path.join(folder, 'tiny.gguf'), { name: 'tiny', config, weights: smallWeights(config), tokenizer }, 'Q8_0');
    hub.files.clear();
    await refuses(/owner\/name cannot be used as it is: it has no config.json/);
    hub.files.set('sub/tiny.gguf', readFileSync(path.join(folder, 'tiny.gguf')));
    await refuses(/Its GGUF files are hf:owner\/name\/sub\/tiny.gguf/);
    const at = await fetchModel(`${model}/sub/tiny.gguf`);
    assert.deepEqual((await readTokenizerFiles(at)).tokenizer, (await readTokenizerFiles(path.join(folder, 'tiny.gguf'))).tokenizer);
    const rows = [{ tokens: [2, 70, 80, 300, 310], mask: [0, 1, 1, 1, 1], temperature: 1 }];
    const policy = await openPolicy(`${model}/sub/tiny.gguf`, { threads: 1 });
    assert.deepEqual([policy.info.model_type, await policy.chat.models()], ['gemma3_text', ['tiny']]);
    const before = await policy.logprobs(rows);
    await policy.save(path.join(folder, 'saved'), { resumable: false });
    await policy.close();
    const saved = await openPolicy(path.join(folder, 'saved'), { threads: 1 });
    assert.deepEqual(await saved.logprobs(rows), before);
    await saved.close();
    await assert.rejects(fetchModel(`${model}/other.gguf`), /owner\/name has no file other.gguf. Its GGUF files are/);
  });

  it('that others have left in part are completed', async () => {
    const at = await fetchModel(model);
    rmSync(path.join(at, 'model.safetensors'));
    assert.equal(cachedModel(model), null);
    await loadModel(await fetchModel(model));
  });

  it('are named as they should be', async () => {
    assert.deepEqual(parseHubReference('hf:Qwen/Qwen2.5-0.5B-Instruct'), { repository: 'Qwen/Qwen2.5-0.5B-Instruct', revision: 'main', file: null });
    assert.deepEqual(parseHubReference('hf:a/b@v1.0/dir/m-q8_0.gguf'), { repository: 'a/b', revision: 'v1.0', file: 'dir/m-q8_0.gguf' });
    for (const wrong of ['hf:', 'hf:name', 'hf:a/b/c', 'hf:a/b@', 'hf:a/../x.gguf', 'hf:../b']) assert.throws(() => parseHubReference(wrong), /names no model of the Hugging Face hub/, wrong);
    hub.faults.status = 503;
    await refuses(/The Hugging Face hub answered 503 for owner\/name. Try again later/);
    hub.faults.status = null;
    await assert.rejects(fetchModel('hf:owner/other'), { code: 'not_found', message: /has no owner\/other with the version "main"/ });
    hub.stop();
    await refuses(/could not be reached for owner\/name: .*give the path of a model that is on this machine/);
  });
});
