import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { folderWindow } from './folder-window.ts';
import { root } from './real-vscode.ts';

/** The universal package: without native binaries, which it installs from npm's registry when the user agrees. */
describe('the universal package in a real VS Code', function () {
  this.timeout(600_000);
  let folder = '';

  const { open } = folderWindow('universal', (made) => {
    if (spawnSync('npm', ['ping'], { timeout: 60_000 }).status !== 0) return { missing: 'npm does not reach its registry' };
    folder = made;
    cpSync(join(root, 'examples', 'sql-agent'), join(folder, 'sql-agent'), { recursive: true, filter: (path) => !path.includes('.agent-trainer') });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules', 'sql.js'), join(folder, 'node_modules', 'sql.js'));
    return { kind: 'universal', options: { environment: { NPM_CONFIG_USERCONFIG: join(homedir(), '.npmrc'), NPM_CONFIG_CACHE: join(homedir(), '.npm') } } };
  });

  const question = (): Locator => open().page.locator('.monaco-dialog-box', { hasText: 'Install the native packages of the trainer?' });
  const dryRun = (): Promise<void> => open().page.locator('.editor-instance .codelens-decoration a', { hasText: /^\s*Dry run\s*$/ }).first().click({ timeout: 60_000 });

  it('asks before it installs anything, and takes no for an answer', async () => {
    await open().openFile('agent.ts');
    await dryRun();
    await question().waitFor({ timeout: 60_000 });
    assert.match(await question().innerText(), /onnxruntime-node.*libsql.*esbuild.*about \d+ MB.*globalStorage/s);
    await open().screenshot('universal-consent-dark');
    await question().getByRole('button', { name: 'Cancel' }).click();
    await question().waitFor({ state: 'detached' });
    assert.ok(!existsSync(join(folder, '.agent-trainer', 'server.json')));
  });

  it('installs them when the user agrees; a TypeScript agent then runs on a local model', async () => {
    await dryRun();
    await question().getByRole('button', { name: 'Install' }).click({ timeout: 60_000 });
    const frame = await open().webview('.tree', 500_000);
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 90_000 });
    assert.equal(await frame.locator('.count').innerText(), '10 rollouts');
  });

  it('does not ask again', async () => {
    await open().command('View: Close All Editors');
    await open().openFile('agent.py');
    await dryRun();
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 90_000 });
    assert.equal(await question().count(), 0);
  });
});
