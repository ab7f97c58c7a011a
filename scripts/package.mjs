// Packs the extension for this machine's platform into agent-trainer-<platform>-<version>.vsix, with this platform's native binaries.
// `--universal` packs agent-trainer-universal-<version>.vsix for all platforms, with none: it installs them when they are first needed.
// What goes in is staged in dist/vsix-stage.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { createVSIX } from '@vscode/vsce';
import { downloadBytes, lockedPackages, nativePackages, packageFolder } from './native-packages.mjs';

const root = join(import.meta.dirname, '..');
const stage = join(root, 'dist', 'vsix-stage');
const target = process.argv.includes('--universal') ? undefined : `${process.platform}-${process.arch}`;
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const output = join(root, `agent-trainer-${target ?? 'universal'}-${manifest.version}.vsix`);

/** Only their install scripts need these. */
const unneeded = new Set(['adm-zip', 'global-agent']);

const built = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);

rmSync(stage, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
writeFileSync(join(stage, 'package.json'), `${JSON.stringify(stagedManifest(), null, 2)}\n`);
const texts = readdirSync(root).filter((name) => /^package\.nls(\..+)?\.json$/.test(name));
for (const name of [...texts, 'l10n', 'CHANGELOG.md', 'LICENSE', 'media']) cpSync(join(root, name), join(stage, name), { recursive: true });
writeFileSync(join(stage, 'README.md'), stagedReadme());
for (const name of ['extension', 'web.cjs', 'trainer', 'runtime', 'webview', 'agent-trainer.schema.json']) {
  cpSync(join(root, 'dist', name), join(stage, 'dist', name), { recursive: true, filter: (path) => !path.endsWith('.map') });
}
writeFileSync(join(stage, '.vscodeignore'), ''); // all that is staged is wanted
if (target === undefined) await stageLock();
else for (const name of nativePackages) stagePackage(name, root); // beside the programs that load them: vsce leaves a node_modules folder at the root out

await createVSIX({ cwd: stage, packagePath: output, target, dependencies: false, allowMissingRepository: true, skipLicense: true, rewriteRelativeLinks: false });
rmSync(stage, { recursive: true, force: true });

/** Without what only development needs. Dependencies are staged, not installed. */
function stagedManifest() {
  const { scripts, devDependencies, dependencies, peerDependencies, peerDependenciesMeta, overrides, bin, exports, private: _private, ...rest } = manifest;
  return rest;
}

/** As the page of an installed extension can show it, which reaches no file beside it: without pictures, other files by name alone. */
function stagedReadme() {
  const text = readFileSync(join(root, 'README.md'), 'utf8').replace(/\n## More\n[^]*$/, '');
  return text.replace(/^!\[.*\n\n/gm, '').replace(/\[([^\]]+)\]\((?!https?:|#)[^)]+\)/g, '$1');
}

/** What to install, pinned, and how large that is. */
async function stageLock() {
  const { manifest, lock } = lockedPackages(root);
  const folder = join(stage, 'dist', 'native');
  mkdirSync(folder, { recursive: true });
  const write = (name, value) => writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
  write('package.json', manifest);
  write('package-lock.json', lock);
  write('download.json', { bytes: await downloadBytes(root) });
}

function stagePackage(name, from) {
  if (unneeded.has(name) || name.endsWith('-musl')) return; // VS Code's linux targets are those with glibc, and ONNX Runtime has no build for musl
  const folder = packageFolder(name, from);
  if (folder === null) return; // an optional binary of another platform
  const staged = join(stage, 'dist', 'node_modules', name);
  if (existsSync(staged)) return;
  cpSync(folder, staged, { recursive: true, dereference: true, filter: (path) => isWanted(path.slice(folder.length).replaceAll('\\', '/')) });
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) stagePackage(dependency, folder);
}

/** Drops the binaries of other platforms and what never runs. */
function isWanted(path) {
  const native = /^\/bin\/napi-v\d+\/(\w+)(?:\/(\w+))?/.exec(path);
  if (native !== null && (native[1] !== process.platform || (native[2] ?? process.arch) !== process.arch)) return false;
  return !/^\/(node_modules|script|docs|types|dist\/esm)(\/|$)|\.(map|md|ts)$/.test(path) || path === ''; // all of them are loaded by require
}
