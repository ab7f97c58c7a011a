import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cleanCache } from '../../../trainer/runner/clean-cache.ts';
import { Overlays } from '../../../trainer/runner/overlays.ts';

describe('the cache of agent processes', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'cache-')); });
  afterEach(() => rmSync(folder, { recursive: true }));
  const add = (name: string, bytes: number, used: number) => {
    writeFileSync(path.join(folder, name), Buffer.alloc(bytes));
    utimesSync(path.join(folder, name), used, used);
  };
  const left = () => readdirSync(folder).sort();

  it('loses what was used least recently while it is too large', () => {
    for (const [name, used] of [['c', 300], ['a', 100], ['b', 200]] as const) add(name, 10, used);
    mkdirSync(path.join(folder, 'folder'));
    cleanCache(folder, 30, Infinity);
    assert.deepEqual(left(), ['a', 'b', 'c', 'folder']);
    cleanCache(folder, 25, Infinity);
    assert.deepEqual(left(), ['b', 'c', 'folder']);
    cleanCache(folder, 0, Infinity);
    assert.deepEqual(left(), ['folder']);
  });

  it('keeps what was used lately, however large it is; a cache that is not there is none', () => {
    add('old', 10, 100);
    add('new', 10, 200);
    cleanCache(folder, 0, 150_000);
    assert.deepEqual(left(), ['new']);
    cleanCache(path.join(folder, 'nowhere'));
  });

  it('an overlay that is used again is as good as new', () => {
    const resources = { resources: { prompts: { resource_type: 'source_overlay' as const, files: [{ path: 'agent.py', text: 'x' }] } } };
    const overlay = () => new Overlays({ getResources: () => resources } as unknown as ConstructorParameters<typeof Overlays>[0], folder).of('r');
    overlay();
    utimesSync(path.join(folder, left()[0]!), 100, 100);
    overlay();
    cleanCache(folder, 0, 150_000);
    assert.equal(left().length, 1);
  });
});
