import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';
import { realVSCode, root } from './real-vscode.ts';
import { browserFlags, freePort, saysSo, screenshots, stopGroup } from './window.ts';

/** Takes the server away from the workbench, as on vscode.dev, and lets the browser load the extension itself. */
async function withoutServer(page: Page, host: string): Promise<void> {
  const change = (pattern: RegExp, edit: (text: string) => string): Promise<unknown> => page.route(pattern, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: edit(await response.text()) });
  });
  const extension = JSON.stringify({ additionalBuiltinExtensions: [{ scheme: 'http', authority: host, path: '/our-extension' }] }).slice(1, -1);
  await change(/^http:\/\/[^/]+\/$/, (html) => html.replace('id="vscode-workbench-web-configuration" data-settings="{', (start) => `${start}${`${extension},`.replaceAll('"', '&quot;')}`));
  await change(/\/workbench\.js$/, (script) => script.replace('remoteAuthority:location.host', 'remoteAuthority:void 0'));
  await page.route(/\/our-extension\//, (route) => {
    const path = join(root, new URL(route.request().url()).pathname.replace('/our-extension/', ''));
    return existsSync(path) ? route.fulfill({ path }) : route.fulfill({ status: 404 });
  });
}

describe('the extension in a real VS Code without a server', function () {
  this.timeout(300_000);

  it('says on the use of a command, and in its views, that this window has no machine for agents', async function () {
    const code = await realVSCode();
    if ('missing' in code) {
      console.log(`    skipped: ${code.missing}`);
      return this.skip();
    }
    const home = mkdtempSync(join(tmpdir(), 'agent-trainer-web-'));
    const port = await freePort();
    const server = spawn(code.node, [
      code.server, '--host', '127.0.0.1', '--port', String(port), '--without-connection-token', '--accept-server-license-terms', '--disable-workspace-trust', '--server-data-dir', home, '--telemetry-level', 'off',
    ], { env: { ...process.env, HOME: home }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const browser = await chromium.launch({ executablePath: code.chromium, args: [...browserFlags, '--disable-features=LocalNetworkAccessChecks'] });
    let page: Page | undefined;
    try {
      await saysSo(server, /Extension host agent listening/);
      page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
      await withoutServer(page, `127.0.0.1:${port}`);
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.locator('.activitybar .action-label[aria-label="Agent Trainer"]').click({ timeout: 60_000 });
      await page.locator('.welcome-view-content', { hasText: 'this window has no machine to run them on' }).first().waitFor();
      await page.keyboard.press('F1');
      const input = page.locator('.quick-input-widget input[type=text]');
      await input.waitFor();
      await input.fill('>Agent Trainer: Train Agent');
      await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Train Agent' }).first().click();
      await page.locator('.notification-list-item', { hasText: 'this window has no machine to run them on' }).waitFor();
      await page.screenshot({ path: join(screenshots, 'web.png') });
    } catch (error) {
      await page?.screenshot({ path: join(screenshots, 'failed-web.png') });
      throw error;
    } finally {
      await browser.close();
      stopGroup(server);
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});
