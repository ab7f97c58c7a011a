import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface RealVSCode { node: string; entry: string; server: string; chromium: string }

export const root = join(import.meta.dirname, '..', '..');

/** The VS Code that scripts/code-server.mjs sets up, or why there is none. */
export async function realVSCode(): Promise<RealVSCode | { missing: string }> {
  const { setUpCodeServer } = await import(join(root, 'scripts', 'code-server.mjs')) as { setUpCodeServer: () => RealVSCode | { missing: string } };
  return setUpCodeServer();
}

/** The packed extension, packed anew when a source is newer. */
export function packedExtension(): string {
  const found = newestVsix();
  if (found !== undefined && statSync(found).mtimeMs > newestSource()) return found;
  execFileSync(process.execPath, [join(root, 'scripts', 'package.mjs')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return newestVsix() ?? '';
}

function newestVsix(): string | undefined {
  return readdirSync(root).filter((name) => name.endsWith('.vsix')).map((name) => join(root, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

function newestSource(): number {
  const files = ['src', 'webview', 'trainer', 'runtime', 'media', 'l10n'].flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => join(root, folder, String(file))));
  return Math.max(...[...files, join(root, 'package.json'), join(root, 'scripts', 'build.mjs')].filter((file) => existsSync(file) && statSync(file).isFile()).map((file) => statSync(file).mtimeMs));
}
