// TypeScript to JavaScript, one file at a time, through a cache on disk: only the first worker of a run pays for it.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

const folder = process.env.AGENT_TRAINER_CACHE;
const version = 2; // of the options below: part of the cache key

/** JavaScript with an inline source map. Throws SyntaxError naming file, line and column. */
export function transpile(path, source, format, compilerOptions) {
  const key = createHash('sha256').update(JSON.stringify([version, path, format, compilerOptions, source])).digest('hex');
  const cached = folder && join(folder, `${key}.js`);
  if (cached) {
    try {
      const code = readFileSync(cached, 'utf8');
      utimesSync(cached, new Date(), new Date()); // used: it is not deleted soon
      return code;
    } catch {
      // not there yet
    }
  }
  const code = compile(path, source, format, compilerOptions);
  if (cached) keep(cached, code);
  return code;
}

function compile(path, source, format, compilerOptions) {
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  try {
    return transformSync(source, {
      loader: path.endsWith('x') ? 'tsx' : 'ts',
      format: format === 'module' ? 'esm' : 'cjs',
      target: 'node20.19',
      sourcefile: basename(path), // relative to the module's URL
      sourcemap: 'inline',
      sourcesContent: false,
      keepNames: true, // else a shadowed name becomes `name2` in stacks and spans
      tsconfigRaw: { compilerOptions },
      logLevel: 'silent',
    }).code;
  } catch (error) {
    const first = error.errors?.[0];
    if (!first) throw error;
    const place = first.location ? `${path}:${first.location.line}:${first.location.column + 1}` : path;
    throw new SyntaxError(`${first.text} (${place})`);
  }
}

/** Written aside and renamed: another worker must never read half a file. */
function keep(file, code) {
  try {
    mkdirSync(folder, { recursive: true });
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, code);
    renameSync(temporary, file);
  } catch {
    // A cache that cannot be written costs time, nothing else.
  }
}
