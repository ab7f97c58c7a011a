import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packedExtension, realVSCode } from './real-vscode.ts';
import type { RealVSCode } from './real-vscode.ts';
import { VSCodeWindow } from './window.ts';

type Options = Parameters<typeof VSCodeWindow.open>[3];

interface Setup {
  /** Opened in place of the folder itself. */
  workspaceFile?: string;
  kind?: 'platform' | 'universal';
  options?: Options;
  /** Ends what the set-up started. */
  close?: () => Promise<void>;
}

export interface FolderWindow {
  open: () => VSCodeWindow;
  close: () => Promise<void>;
  /** Another window on the folder in place of the one that was closed. */
  openAgain: (options?: Options) => Promise<void>;
}

/**
 * For a `describe`: a window of a real VS Code with the extension, on a temporary folder that `prepare` fills, or skipped with the reason that it gives.
 * After the tests all of it is gone; one that fails leaves a picture.
 */
export function folderWindow(name: string, prepare: (folder: string) => Setup | { missing: string } | Promise<Setup | { missing: string }>): FolderWindow {
  let code: RealVSCode;
  let folder = '';
  let setup: Setup = {};
  let window: VSCodeWindow | undefined;
  const openAgain = async (options?: Options): Promise<void> => { window = await VSCodeWindow.open(code, packedExtension(setup.kind), setup.workspaceFile ?? folder, options); };

  before(async function () {
    const found = await realVSCode();
    folder = mkdtempSync(join(tmpdir(), `agent-trainer-${name}-`));
    const prepared = 'missing' in found ? found : await prepare(folder);
    if ('missing' in prepared || 'missing' in found) {
      console.log(`    skipped: ${'missing' in prepared ? prepared.missing : ''}`);
      return this.skip();
    }
    [code, setup] = [found, prepared];
    await openAgain(setup.options);
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await window?.screenshot(`failed-${name}-${this.currentTest.title.replace(/\W+/g, '-')}`);
  });

  const close = async (): Promise<void> => {
    await window?.close();
    window = undefined;
  };

  after(async () => {
    await close();
    await setup.close?.();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  return { open: () => window ?? assert.fail('no window'), close, openAgain };
}
