import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { bundleHostSuite, hostFolder } from './host-folder.ts';
import { realVSCode, root } from './real-vscode.ts';
import { browserFlags, freePort, saysSo, stopGroup } from './window.ts';

interface Report { error?: string; tests: { fullTitle: string; err: { message?: string; stack?: string } }[] }

describe('the suite inside the extension host', function () {
  this.timeout(300_000);

  it('passes', async function () {
    const code = await realVSCode();
    if ('missing' in code) {
      console.log(`    skipped: ${code.missing}`);
      return this.skip();
    }
    const suite = await bundleHostSuite();
    const report = join(suite, '..', 'report.json');
    rmSync(report, { force: true });
    const folder = hostFolder();
    const home = mkdtempSync(join(tmpdir(), 'agent-trainer-host-home-'));
    const port = await freePort();
    const server = spawn(code.node, [
      code.server, '--host', '127.0.0.1', '--port', String(port), '--without-connection-token', '--accept-server-license-terms', '--enable-smoke-test-driver', '--disable-workspace-trust',
      '--server-data-dir', home, '--telemetry-level', 'off',
    ], { env: { ...process.env, HOME: home, XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '', '.cache') }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const browser = await chromium.launch({ executablePath: code.chromium, args: browserFlags });
    try {
      await saysSo(server, /Extension host agent listening/);
      const page = await browser.newPage();
      const ended = new Promise<number>((resolve) => { void page.exposeFunction('codeAutomationExit', resolve); });
      await page.exposeFunction('codeAutomationLog', () => {});
      const at = (path: string): string => `vscode-remote://127.0.0.1:${port}${path}`;
      const payload = JSON.stringify([['extensionDevelopmentPath', at(root)], ['extensionTestsPath', at(suite)]]);
      await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`);
      const exitCode = await ended;
      const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) as Report : assert.fail('the suite left no report');
      for (const test of results.tests) console.log(`      ${test.err.message === undefined ? '✔' : '✘'} ${test.fullTitle}`);
      assert.deepEqual(results.tests.filter((test) => test.err.message !== undefined).map((test) => test.err.stack), []);
      assert.ok(results.tests.length > 0);
      assert.equal(exitCode, 0);
    } finally {
      await browser.close();
      stopGroup(server);
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      for (const path of [folder, home]) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});
