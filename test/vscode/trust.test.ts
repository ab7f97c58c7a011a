import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { hostFolder } from './host-folder.ts';
import { packedExtension, realVSCode } from './real-vscode.ts';
import { VSCodeWindow } from './window.ts';

describe('a workspace that is not trusted', function () {
  this.timeout(300_000);

  it('shows its agents, runs none, and says why', async function () {
    const code = await realVSCode();
    if ('missing' in code) {
      console.log(`    skipped: ${code.missing}`);
      return this.skip();
    }
    const folder = hostFolder();
    const window = await VSCodeWindow.open(code, packedExtension(), folder, { trusted: false, theme: 'light' });
    try {
      await window.openFile('greeter.py');
      const lens = window.page.locator('.editor-instance .codelens-decoration', { hasText: 'Trust this workspace to run this agent' });
      await lens.first().waitFor({ timeout: 60_000 });
      assert.equal(await window.page.locator('.codelens-decoration', { hasText: 'Dry run' }).count(), 0);
      await window.command('Agent Trainer: Train Agent');
      await window.page.locator('.notification-list-item', { hasText: 'This workspace is not trusted' }).waitFor();
      await window.screenshot('untrusted');
      assert.equal(existsSync(join(folder, '.agent-trainer')), false);
    } finally {
      await window.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
