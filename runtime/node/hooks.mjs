// Module hooks. The same synchronous functions serve `registerHooks` and `register` (where `next…` returns a promise).
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { copyOf } from './overlay.mjs';
import { transpile } from './transpile.mjs';
import { tsconfigFor } from './tsconfig.mjs';

const typescript = ['.ts', '.tsx', '.mts', '.cts', '.jsx'];
/** TypeScript's own rule: an import of `x.js` may mean the file `x.ts`. */
const written = { '.js': ['.ts', '.tsx'], '.jsx': ['.tsx'], '.mjs': ['.mts'], '.cjs': ['.cts'] };
const guesses = ['.ts', '.tsx', '.mts', '.js', '.mjs', '/index.ts', '/index.tsx', '/index.js'];

const built = new URL('./index.js', import.meta.url);
const runtime = existsSync(built) ? built.href : new URL('./index.ts', import.meta.url).href;

export function resolve(specifier, context, nextResolve) {
  if (specifier === 'agent-trainer/runtime') return { url: runtime, shortCircuit: true };
  const parent = context.parentURL?.startsWith('file:') ? fileURLToPath(context.parentURL) : null;
  const isPath = /^(\.{1,2}(\/|$)|\/|file:)/.test(specifier);
  if (parent === null || (!isPath && parent.includes('node_modules'))) return nextResolve(specifier, context);
  const candidates = isPath
    ? [specifier.startsWith('file:') ? fileURLToPath(specifier) : resolvePath(dirname(parent), specifier)]
    : tsconfigFor(parent).aliases(specifier);
  for (const candidate of candidates) {
    const file = existing(candidate);
    // A query (`./x.ts?fresh`) makes no such file: Node's own resolution keeps it. `require` takes paths only.
    if (file) return nextResolve([...(context.conditions ?? [])].includes('require') ? file : pathToFileURL(file).href, context);
  }
  return nextResolve(specifier, context);
}

export function load(url, context, nextLoad) {
  const path = url.startsWith('file:') ? fileURLToPath(url) : null;
  if (path === null) return nextLoad(url, context);
  if (!typescript.includes(extname(path)) || path.includes('node_modules')) return overlaid(nextLoad(url, context), copyOf(path));
  const format = path.endsWith('.cts') ? 'commonjs' : 'module';
  return { format, shortCircuit: true, source: transpile(path, readFileSync(path, 'utf8'), format, tsconfigFor(path).compilerOptions) };
}

/** What Node loaded, with the text of the copy. */
function overlaid(loaded, copy) {
  if (copy === undefined) return loaded;
  const replace = (result) => ({ ...result, source: readFileSync(copy, 'utf8') });
  return loaded instanceof Promise ? loaded.then(replace) : replace(loaded);
}

function existing(path) {
  if (isFile(path)) return path;
  const extension = extname(path);
  const base = path.slice(0, path.length - extension.length);
  const others = [...(written[extension] ?? []).map((other) => base + other), ...guesses.map((guess) => path + guess)];
  return others.find(isFile);
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
