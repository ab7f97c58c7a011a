// Packs the extension for this machine's platform into agent-trainer-<platform>-<version>.vsix.
// What goes in is staged in dist/vsix-stage: the build, and of the native packages only this platform's binaries.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { createVSIX } from '@vscode/vsce';

const root = join(import.meta.dirname, '..');
const stage = join(root, 'dist', 'vsix-stage');
const platform = `${process.platform}-${process.arch}`;
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const output = join(root, `agent-trainer-${platform}-${manifest.version}.vsix`);

/** Packages the trainer loads at run time; what they depend on comes along. */
const runtimePackages = ['onnxruntime-node', 'libsql', 'esbuild'];
/** Only their install scripts need these. */
const unneeded = new Set(['adm-zip', 'global-agent']);

const built = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);

rmSync(stage, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
writeFileSync(join(stage, 'package.json'), `${JSON.stringify(stagedManifest(), null, 2)}\n`);
const texts = readdirSync(root).filter((name) => /^package\.nls(\..+)?\.json$/.test(name));
for (const name of [...texts, 'l10n', 'README.md', 'LICENSE', 'media', 'docs/images']) {
  if (existsSync(join(root, name))) cpSync(join(root, name), join(stage, name), { recursive: true });
}
for (const name of ['extension.cjs', 'web.cjs', 'agent-worker.cjs', 'trainer', 'runtime', 'webview', 'agent-trainer.schema.json']) {
  cpSync(join(root, 'dist', name), join(stage, 'dist', name), { recursive: true, filter: (path) => !path.endsWith('.map') });
}
writeFileSync(join(stage, '.vscodeignore'), ''); // all that is staged is wanted
// Beside the programs that load them: vsce leaves a node_modules folder at the root out.
for (const name of runtimePackages) stagePackage(name, root);

await createVSIX({ cwd: stage, packagePath: output, target: platform, dependencies: false, allowMissingRepository: true, skipLicense: true, rewriteRelativeLinks: false });
rmSync(stage, { recursive: true, force: true });

/** Without what only development needs. Dependencies are staged, not installed. */
function stagedManifest() {
  const { scripts, devDependencies, dependencies, peerDependencies, peerDependenciesMeta, overrides, bin, exports, private: _private, ...rest } = manifest;
  return rest;
}

function stagePackage(name, from) {
  if (unneeded.has(name)) return;
  const folder = packageFolder(name, from);
  if (folder === null) return; // an optional binary of another platform
  const target = join(stage, 'dist', 'node_modules', name);
  if (existsSync(target)) return;
  cpSync(folder, target, { recursive: true, dereference: true, filter: (path) => isWanted(path.slice(folder.length).replaceAll('\\', '/')) });
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) stagePackage(dependency, folder);
}

function packageFolder(name, from) {
  for (const base of createRequire(join(from, 'package.json')).resolve.paths(name)) {
    if (existsSync(join(base, name, 'package.json'))) return join(base, name);
  }
  return null;
}

/** Drops the binaries of other platforms and what never runs. */
function isWanted(path) {
  const native = /^\/bin\/napi-v\d+\/(\w+)(?:\/(\w+))?/.exec(path);
  if (native !== null && (native[1] !== process.platform || (native[2] ?? process.arch) !== process.arch)) return false;
  return !/^\/(node_modules|script|docs|types)(\/|$)|\.(map|md|d\.ts)$/.test(path) || path === '';
}
