import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Frame, Locator, Page } from 'playwright-core';
import { until } from './poll.ts';
import type { RealVSCode } from './real-vscode.ts';

export const themes = { light: 'Light 2026', dark: 'Dark 2026', 'high-contrast': 'Default High Contrast' } as const;
const themeLabels = { ...themes, 'high-contrast': 'Dark High Contrast' };
export type Theme = keyof typeof themes;

export const browserFlags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
export const screenshots = join(import.meta.dirname, '..', 'out', 'screenshots');

/** A real VS Code with the extension installed, open on a folder or a .code-workspace file, in a headless browser. */
export class VSCodeWindow {
  readonly page: Page;
  private readonly home: string;
  private readonly server: ChildProcess;
  private readonly browser: Browser;

  private constructor(page: Page, home: string, server: ChildProcess, browser: Browser) {
    this.page = page;
    this.home = home;
    this.server = server;
    this.browser = browser;
  }

  static async open(code: RealVSCode, vsix: string, folder: string, options: { trusted?: boolean; theme?: Theme; /** Further extensions. */ extensions?: string[]; environment?: Record<string, string> } = {}): Promise<VSCodeWindow> {
    const home = mkdtempSync(join(tmpdir(), 'agent-trainer-vscode-'));
    const data = join(home, 'data');
    mkdirSync(join(data, 'User'), { recursive: true });
    writeFileSync(join(data, 'User', 'settings.json'), JSON.stringify({
      'workbench.colorTheme': themes[options.theme ?? 'dark'], 'workbench.startupEditor': 'none', 'security.workspace.trust.startupPrompt': 'never', 'security.workspace.trust.banner': 'never',
      'telemetry.telemetryLevel': 'off', 'window.commandCenter': false, 'chat.disableAIFeatures': true, 'workbench.secondarySideBar.defaultVisibility': 'hidden', 'extensions.ignoreRecommendations': true, 'workbench.tips.enabled': false,
    }));
    const common = ['--user-data-dir', data, '--extensions-dir', join(home, 'extensions')];
    const environment = { ...process.env, ...options.environment, PATH: `${dirname(code.node)}${delimiter}${process.env['PATH'] ?? ''}`, HOME: home };
    await ended(spawn(code.node, [code.entry, ...common, ...[vsix, ...options.extensions ?? []].flatMap((each) => ['--install-extension', each])], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] }));
    const port = await freePort();
    const server = spawn(code.node, [code.entry, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, ...common, '--disable-telemetry', '--disable-update-check', ...(options.trusted === false ? [] : ['--disable-workspace-trust'])], { env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    try {
      await saysSo(server, /HTTP server listening/);
      const browser = await chromium.launch({ executablePath: code.chromium, args: browserFlags });
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(`http://127.0.0.1:${port}/?${folder.endsWith('.code-workspace') ? 'workspace' : 'folder'}=${encodeURIComponent(folder)}`);
      await page.locator('.monaco-workbench').waitFor({ timeout: 60_000 });
      return new VSCodeWindow(page, home, server, browser);
    } catch (error) {
      stopGroup(server);
      throw error;
    }
  }

  /** Process id of the server; the extension host and what it starts are below it. */
  get pid(): number { return this.server.pid ?? 0; }

  async openFile(name: string): Promise<void> {
    await this.choose(name, name);
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).first().waitFor();
    await this.page.locator('.editor-group-container.active .monaco-editor.focused').first().waitFor(); // what is typed before that is lost
  }

  /** Runs a command of the palette. A view that takes the focus as it opens closes the palette: it is then opened again. */
  async command(title: string): Promise<void> {
    await this.choose(`>${title}`, title);
  }

  private async choose(text: string, expected: string): Promise<void> {
    for (const deadline = Date.now() + 60_000; ;) {
      await this.page.keyboard.press('F1');
      try {
        return await this.quickInput(text, expected, 10_000);
      } catch (error) {
        if (Date.now() > deadline) throw error;
        if (await this.page.locator('.quick-input-widget').isVisible()) await this.page.keyboard.press('Escape');
      }
    }
  }

  private async quickInput(text: string, expected: string, timeout = 30_000): Promise<void> {
    const input = this.page.locator('.quick-input-widget input[type=text]');
    await input.waitFor({ timeout });
    await input.fill(text, { timeout });
    await this.page.locator('.quick-input-list .monaco-list-row').filter({ has: this.page.getByText(expected, { exact: true }) }).first().click({ timeout });
  }

  /** Clicks until what that brings is there: a lens that is drawn anew at this moment takes no click. */
  async clickUntil(target: Locator, shown: Locator, timeout = 90_000): Promise<void> {
    for (const deadline = Date.now() + timeout; ;) {
      try {
        await target.click({ timeout: 30_000 });
        await shown.waitFor({ timeout: 10_000 });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  /** Clicks an action at the end of a list's row until what it does has happened: a row that is drawn anew at this moment takes no click. */
  async rowAction(row: Locator, action: string, happened: () => boolean | Promise<boolean>): Promise<void> {
    await until(async () => {
      try {
        await row.hover({ timeout: 10_000 });
        await row.locator(`.action-label[aria-label^="${action}"]`).click({ timeout: 10_000 });
        await until(happened, 15_000);
        return true;
      } catch {
        await this.page.mouse.move(0, 0);
        return happened();
      }
    }, 90_000);
  }

  /** Chooses an item of a context menu. A list that is drawn anew closes the menu, and a menu that has only just opened ignores clicks: both are tried again. */
  async contextMenu(on: Locator, item: string): Promise<void> {
    const entry = this.page.locator('.monaco-menu .action-label', { hasText: item }).first();
    for (const deadline = Date.now() + 60_000; ;) {
      try {
        if (!await entry.isVisible()) await on.click({ button: 'right', timeout: 10_000 });
        await entry.click({ timeout: 3_000 });
        await entry.waitFor({ state: 'hidden', timeout: 1_000 });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  /** The document inside the webview that holds `selector`, once it is there. */
  async webview(selector: string, timeout = 60_000): Promise<Frame> {
    for (const deadline = Date.now() + timeout; ;) {
      for (const frame of this.page.frames()) {
        if (frame.url().includes('vscode-webview') || frame.url().includes('fake.html')) {
          if (await frame.locator(selector).count().catch(() => 0) > 0) return frame;
        }
      }
      if (Date.now() > deadline) throw new Error(`No webview shows ${selector}.`);
      await this.page.waitForTimeout(100);
    }
  }

  async setTheme(theme: Theme): Promise<void> {
    await this.command('Preferences: Color Theme');
    await this.quickInput(themeLabels[theme], themeLabels[theme]);
    const kind = { light: 'vs', dark: 'vs-dark', 'high-contrast': 'hc-black' }[theme];
    await this.page.locator(`.monaco-workbench.${kind}`).first().waitFor();
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** A picture in each theme, the one it has last. */
  async inAllThemes(name: string, prepare: () => Promise<void> = async () => undefined): Promise<void> {
    for (const theme of [...Object.keys(themes).filter((each) => each !== 'dark'), 'dark'] as Theme[]) {
      await this.setTheme(theme);
      await prepare();
      await this.screenshot(`${name}-${theme}`);
    }
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(screenshots, { recursive: true });
    await this.page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  async close(): Promise<void> {
    await this.browser.close();
    stopGroup(this.server);
    await new Promise((resolve) => { if (this.server.exitCode !== null || this.server.signalCode !== null) resolve(null); else this.server.once('exit', resolve); });
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function stopGroup(server: ChildProcess): void {
  if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM');
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => { if (code === 0) resolve(); else reject(new Error(`it ended with code ${code}`)); });
  });
}

/** Resolves when the program has written something that matches. */
export function saysSo(child: ChildProcess, pattern: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const hear = (data: Buffer): void => {
      said = (said + data.toString()).slice(-10_000);
      if (pattern.test(said)) resolve();
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('exit', (code) => { reject(new Error(`code-server ended with code ${code}: ${said}`)); });
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}
