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

/** The packed extension, packed anew when a source is newer: for this platform, or for all. */
export function packedExtension(kind: 'platform' | 'universal' = 'platform'): string {
  const found = newestVsix(kind);
  if (found !== undefined && statSync(found).mtimeMs > newestSource()) return found;
  execFileSync(process.execPath, [join(root, 'scripts', 'package.mjs'), ...(kind === 'universal' ? ['--universal'] : [])], { stdio: ['ignore', 'ignore', 'inherit'] });
  return newestVsix(kind) ?? '';
}

function newestVsix(kind: 'platform' | 'universal'): string | undefined {
  return readdirSync(root).filter((name) => name.endsWith('.vsix') && name.includes('-universal-') === (kind === 'universal')).map((name) => join(root, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

function newestSource(): number {
  const files = ['src', 'webview', 'trainer', 'runtime', 'media', 'l10n'].flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => join(root, folder, String(file))));
  return Math.max(...[...files, ...['package.json', 'scripts/build.mjs', 'scripts/package.mjs', 'scripts/native-packages.mjs'].map((file) => join(root, file))].filter((file) => existsSync(file) && statSync(file).isFile()).map((file) => statSync(file).mtimeMs));
}
