// The part of tsconfig.json that changes how a file runs: path aliases and the options esbuild honours.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const honoured = ['experimentalDecorators', 'jsx', 'jsxFactory', 'jsxFragmentFactory', 'jsxImportSource', 'useDefineForClassFields', 'verbatimModuleSyntax'];
const byFolder = new Map();

/** Settings for a source file: `compilerOptions` for esbuild, `aliases(specifier)`: the paths it may stand for. */
export function tsconfigFor(file) {
  const folder = dirname(file);
  let settings = byFolder.get(folder);
  if (!settings) byFolder.set(folder, settings = settingsOf(nearest(folder)));
  return settings;
}

function nearest(folder) {
  const file = join(folder, 'tsconfig.json');
  if (existsSync(file)) return file;
  const parent = dirname(folder);
  return parent === folder ? null : nearest(parent);
}

function settingsOf(file) {
  const options = file ? read(file, 0) : {};
  const compilerOptions = Object.fromEntries(honoured.filter((key) => key in options).map((key) => [key, options[key]]));
  return { compilerOptions, aliases: (specifier) => aliasesOf(options, specifier) };
}

/** compilerOptions with what they extend; `paths` made absolute. */
function read(file, depth) {
  const config = parseWithComments(readFileSync(file, 'utf8'), file);
  const bases = depth > 8 ? [] : [config.extends ?? []].flat();
  const inherited = bases.map((base) => read(extended(base, file), depth + 1));
  const options = { ...config.compilerOptions };
  const root = resolve(dirname(file), options.baseUrl ?? '.');
  if (options.baseUrl !== undefined) options.baseUrl = root;
  if (options.paths) {
    options.paths = Object.fromEntries(Object.entries(options.paths).map(([pattern, targets]) => [pattern, targets.map((target) => resolve(root, target))]));
  }
  return Object.assign({}, ...inherited, options);
}

function extended(base, file) {
  if (!base.startsWith('.')) return createRequire(file).resolve(base);
  return resolve(dirname(file), base.endsWith('.json') ? base : `${base}.json`);
}

function aliasesOf({ paths = {}, baseUrl }, specifier) {
  const found = [];
  for (const [pattern, targets] of Object.entries(paths)) {
    const [before, after] = pattern.split('*');
    if (after === undefined ? specifier === pattern : specifier.length >= before.length + after.length && specifier.startsWith(before) && specifier.endsWith(after)) {
      const middle = after === undefined ? '' : specifier.slice(before.length, specifier.length - after.length);
      found.push(...targets.map((target) => target.replace('*', () => middle)));
    }
  }
  return baseUrl ? [...found, resolve(baseUrl, specifier)] : found;
}

/** JSON with comments and trailing commas, as tsconfig files are written. */
function parseWithComments(text, file) {
  const plain = text
    .replace(/^\uFEFF/, '')
    .replace(/("(?:\\.|[^"\\])*")|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (_, string) => string ?? '')
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string) => string ?? '');
  try {
    return JSON.parse(plain);
  } catch (error) {
    throw new SyntaxError(`${file} is not valid: ${error.message}`);
  }
}
