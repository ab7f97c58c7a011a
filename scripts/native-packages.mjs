// The native packages that the trainer loads at run time, with all that they depend on.
import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

export const nativePackages = ['onnxruntime-node', 'libsql', 'esbuild'];

/**
 * What npm needs to install them exactly as they are locked here, on any platform.
 * @param root the folder of our own package.json and package-lock.json
 * @returns {{ manifest: object, lock: object }} a package.json and its package-lock.json
 */
export function lockedPackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const dependencies = Object.fromEntries(nativePackages.map((name) => [name, packages[`node_modules/${name}`].version]));
  const manifest = { name: 'agent-trainer-native-packages', version: '1.0.0', private: true, dependencies };
  const taken = {};
  const open = nativePackages.map((name) => `node_modules/${name}`);
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (taken[path] !== undefined) continue;
    const { dev: _dev, ...entry } = packages[path];
    taken[path] = entry;
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
      const found = lockedAt(packages, path, name);
      if (found !== undefined) open.push(found);
      else if (entry.optionalDependencies?.[name] === undefined) throw new Error(`package-lock.json has no ${name} for ${path}.`);
    }
  }
  const sorted = Object.fromEntries(Object.keys(taken).sort().map((path) => [path, taken[path]]));
  return { manifest, lock: { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true, packages: { '': manifest, ...sorted } } };
}

/** Where a package finds another: in its own node_modules, else in that of a folder above it. */
function lockedAt(packages, path, name) {
  for (let from = `${path}/`; ; from = from.slice(0, from.lastIndexOf('node_modules/'))) {
    const candidate = `${from}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (from === '') return undefined;
  }
}

/** How many bytes come over the network when they are installed on this platform: their files, compressed as npm's archives are. */
export async function downloadBytes(root) {
  const folders = Object.keys(lockedPackages(root).lock.packages).filter((path) => path !== '' && existsSync(join(root, path)));
  let bytes = 0;
  for (const folder of folders) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      const file = join(root, folder, name);
      if (/(^|[\\/])node_modules[\\/]/.test(name) || !statSync(file).isFile()) continue; // packages inside packages are counted by themselves
      await pipeline(createReadStream(file), createGzip(), async (compressed) => { for await (const chunk of compressed) bytes += chunk.length; });
    }
  }
  return bytes;
}

/** The folder of an installed package as another finds it; null when it is not there (an optional binary of another platform). */
export function packageFolder(name, from) {
  for (const base of createRequire(join(from, 'package.json')).resolve.paths(name)) {
    if (existsSync(join(base, name, 'package.json'))) return join(base, name);
  }
  return null;
}
