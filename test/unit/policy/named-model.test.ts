import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuredModel, namedAdapter } from '../../../trainer/policy/named-model.ts';

describe('the model of a configuration', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'named-'));
    for (const model of ['base', 'other']) {
      mkdirSync(path.join(folder, model));
      writeFileSync(path.join(folder, model, 'config.json'), '{}');
    }
    for (const [name, base] of Object.entries({ absolute: path.join(folder, 'base'), relative: 'base', hub: 'owner/name', gone: '/models/gone', none: null, empty: undefined })) {
      mkdirSync(path.join(folder, name));
      if (base !== undefined) writeFileSync(path.join(folder, name, 'adapter_config.json'), JSON.stringify({ base_model_name_or_path: base }));
      if (base !== undefined) writeFileSync(path.join(folder, name, 'adapter_model.safetensors'), '');
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is its path, or what its adapter was made for', () => {
    const model = (settings: Parameters<typeof configuredModel>[0]) => configuredModel(settings, folder);
    assert.equal(model({}), null);
    assert.equal(model({ path: 'other' }), path.join(folder, 'other'));
    assert.equal(model({ path: 'other', lora_adapter_path: 'relative' }), path.join(folder, 'other'));
    for (const name of ['absolute', 'relative']) assert.equal(model({ lora_adapter_path: name }), path.join(folder, 'base'));
    assert.equal(model({ lora_adapter_path: 'hub' }), 'hf:owner/name');
    assert.throws(() => model({ lora_adapter_path: 'gone' }), { code: 'not_found', message: /adapter_config.json: base_model_name_or_path is "\/models\/gone", which is no model here. Give the model as model.path/ });
    assert.throws(() => model({ lora_adapter_path: 'none' }), { code: 'bad_input', message: /base_model_name_or_path.* names no model: give it as model.path/i });
    assert.throws(() => model({ lora_adapter_path: 'empty' }), { code: 'not_found', message: /model.lora_adapter_path: there is no adapter_config.json in / });
    assert.equal(namedAdapter('relative', folder), path.join(folder, 'relative'));
  });
});
