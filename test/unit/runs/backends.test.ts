import assert from 'node:assert/strict';
import { modelOfText } from '../../../trainer/runs/backends.ts';

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
