import assert from 'node:assert/strict';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { BuildOptions, Metafile } from 'esbuild';
import { root } from '../../vscode/real-vscode.ts';

describe('what every window loads', () => {
  it('is our own code alone: libraries come with the first use of what needs them', async () => {
    const { extension } = await import(join(root, 'scripts', 'build.mjs')) as { extension: BuildOptions };
    const { metafile } = await build({ ...extension, absWorkingDir: root, plugins: [], sourcemap: false, write: false, metafile: true });
    const loaded = atOnce(metafile.outputs, 'dist/extension/main.cjs');
    const inputs = [...loaded].flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}));
    assert.ok(inputs.includes('src/extension.ts'));
    assert.deepEqual(inputs.filter((input) => input.includes('node_modules')), []);
    const bytes = [...loaded].reduce((sum, file) => sum + (metafile.outputs[file]?.bytes ?? 0), 0);
    assert.ok(bytes < 100_000, `${bytes} bytes`);
  });
});

/** A file and all that it imports, without what it imports later. */
function atOnce(outputs: Metafile['outputs'], file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const { path, kind, external } of outputs[file]?.imports ?? []) if (kind === 'import-statement' && external !== true) atOnce(outputs, path, found);
  return found;
}
