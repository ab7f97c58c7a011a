import assert from 'node:assert/strict';
import { modelOfChoice, modelOfText } from '../../../trainer/runs/backends.ts';
import { withoutSecret } from '../../../trainer/runs/dev-run.ts';

describe('a model given as text', () => {
  const server = (text: string) => {
    const source = modelOfText(text, '/nowhere');
    assert.ok(source.kind === 'endpoint');
    return [source.url, source.model];
  };

  it('is a server, of whose models #name picks one', () => {
    assert.deepEqual(server('http://127.0.0.1:11434/v1'), ['http://127.0.0.1:11434/v1', null]);
    assert.deepEqual(server('http://127.0.0.1:11434/v1#org/qwen2.5:0.5b'), ['http://127.0.0.1:11434/v1', 'org/qwen2.5:0.5b']);
    assert.deepEqual(server('HTTPS://models.example/v1#'), ['HTTPS://models.example/v1', null]);
  });

  it('or a folder, which must hold a model', () => {
    assert.throws(() => modelOfText('127.0.0.1:11434/v1', '/nowhere'), /no model in \/nowhere\/127.0.0.1:11434\/v1: .*begins with http:\/\//);
  });
});

describe('a model that a request names', () => {
  it('has the key it is given, or the one in the variable that is named', () => {
    const keyOf = (key: { api_key?: string; api_key_env?: string }) => { const source = modelOfChoice({ kind: 'endpoint', url: 'http://127.0.0.1:1/v1', ...key }, undefined); return source.kind === 'endpoint' && source.apiKey; };
    process.env['BACKENDS_TEST_KEY'] = 'from-environment';
    try {
      assert.deepEqual([keyOf({}), keyOf({ api_key: 'given' }), keyOf({ api_key_env: 'BACKENDS_TEST_KEY' }), keyOf({ api_key_env: 'BACKENDS_TEST_NONE' })], [null, 'given', 'from-environment', null]);
    } finally {
      delete process.env['BACKENDS_TEST_KEY'];
    }
    const { model } = withoutSecret({ model: { kind: 'endpoint', url: 'http://127.0.0.1:1/v1', api_key: 'given', api_key_env: 'BACKENDS_TEST_KEY' } });
    assert.deepEqual(JSON.parse(JSON.stringify(model)), { kind: 'endpoint', url: 'http://127.0.0.1:1/v1', api_key_env: 'BACKENDS_TEST_KEY' });
  });
});
