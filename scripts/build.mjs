// Builds everything into dist/ (a few seconds): the extension, its web pages, the trainer's program, the runtimes that
// go into users' processes and the schema of agent-trainer.json. `--watch` builds again after each change.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = join(import.meta.dirname, '..');
process.chdir(root);
const watch = process.argv.includes('--watch');

/** Native or WASM packages: they cannot be in a bundle and are found in node_modules. */
export const external = ['onnxruntime-node', 'libsql', 'esbuild', 'sql.js', '@tensorflow/tfjs-node-gpu'];

/** Messages of schemas in other languages than English are a quarter of what the schemas weigh, and shown to nobody. */
const englishSchemas = {
  name: 'english-schemas',
  setup: ({ onResolve }) => onResolve({ filter: /^\.\.\/locales\/index\.js$/ }, ({ importer }) => (/[\\/]zod[\\/]/.test(importer) ? { path: join(dirname(importer), '..', 'locales', 'en.js') } : null)),
};

/** esbuild splits ES modules alone. The extension host loads CommonJS at one go; while it reads ES modules it lets other extensions go first. */
const asCommonJs = {
  name: 'as-commonjs',
  setup({ initialOptions, onEnd }) {
    initialOptions.write = false;
    onEnd(async ({ outputFiles = [] }) => {
      mkdirSync(initialOptions.outdir, { recursive: true });
      for (const { path, text } of outputFiles) {
        const { code, map } = await esbuild.transform(text, { format: 'cjs', platform: 'node', supported: { 'dynamic-import': false }, minifyWhitespace: !watch, sourcemap: 'external', sourcefile: basename(path) });
        writeFileSync(path, `${code}//# sourceMappingURL=${basename(path)}.map\n`);
        writeFileSync(`${path}.map`, map);
      }
    });
  },
};

/** Names are kept for stack traces. */
const common = { bundle: true, sourcemap: true, minifySyntax: !watch, minifyWhitespace: !watch, logLevel: 'warning', legalComments: 'none', plugins: [englishSchemas] };
const node = { ...common, platform: 'node', target: 'node20' };
/** Bundled CommonJS packages ask for Node's modules by `require`, which an ES module has not. */
const requireForEsm = { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" };

const trainerEntries = { 'provider-probe': 'trainer/policy/provider/probe-process.ts', cli: 'trainer/cli/main.ts', 'policy-worker': 'trainer/policy/worker.ts' };

/** The extension where there is no Node: a browser without a server. */
export const webBuild = { ...common, sourcemap: false, minify: true, entryPoints: ['src/web.ts'], outfile: 'dist/web.cjs', format: 'cjs', platform: 'browser', target: 'es2022', external: ['vscode'] };

/** With a thread of the extension host. What is reached by `import()` alone is in chunks of its own, loaded when it is first used. */
export const extension = {
  ...node, entryPoints: { main: 'src/extension.ts', 'agent-worker': 'src/agents/scan/worker.ts' }, outdir: 'dist/extension',
  format: 'esm', splitting: true, chunkNames: '[name]-[hash]', outExtension: { '.js': '.cjs' }, sourcemap: 'inline', external: ['vscode', 'bufferutil', 'utf-8-validate'], plugins: [englishSchemas, asCommonJs],
};

const builds = [
  extension,
  webBuild,
  {
    ...node, entryPoints: Object.fromEntries(Object.entries(trainerEntries).filter(([, file]) => existsSync(file))), outdir: 'dist/trainer',
    format: 'esm', splitting: true, chunkNames: 'chunk-[hash]', external: [...external, 'bufferutil', 'utf-8-validate'], banner: requireForEsm,
  },
  // index.js and worker.js share one copy of the state they communicate through.
  { ...node, entryPoints: ['runtime/node/index.ts', 'runtime/node/worker.ts'], outdir: 'dist/runtime/node', format: 'esm', splitting: true, chunkNames: 'chunk-[hash]', external },
  {
    ...common, entryPoints: { training: 'webview/training/main.ts', trace: 'webview/trace/main.ts', prompts: 'webview/prompts/main.ts' }, outdir: 'dist/webview', format: 'esm', target: 'es2022', platform: 'browser', minify: !watch,
    sourcemap: watch ? 'inline' : false,
  },
];

/** What is not compiled: module hooks and the Python package. */
function copyRuntimes() {
  cpSync('runtime', 'dist/runtime', { recursive: true, filter: (path) => !/(\.ts|\.md|\.pyc|__pycache__)$/.test(path) });
}

/** The types of `agent-trainer/runtime` for users' own type checks, which would not accept our sources (imports that end in .ts). */
async function writeRuntimeTypes() {
  const { default: ts } = await import('typescript');
  for (const name of readdirSync('runtime/node').filter((file) => file.endsWith('.ts') && file !== 'worker.ts')) {
    const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(join('runtime/node', name), 'utf8'), {
      fileName: name, reportDiagnostics: true, compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    if (diagnostics.length > 0) throw new Error(`runtime/node/${name}: ${ts.flattenDiagnosticMessageText(diagnostics[0].messageText, ' ')}`);
    writeFileSync(join('dist/runtime/node', name.replace(/\.ts$/, '.d.ts')), outputText);
  }
}

/** The JSON schema that completes and checks agent-trainer.json in the editor, from the trainer's own schema. */
async function writeConfigSchema() {
  const work = mkdtempSync(join(tmpdir(), 'agent-trainer-schema-'));
  try {
    const outfile = join(work, 'schema.mjs');
    await esbuild.build({
      ...node, sourcemap: false, outfile, format: 'esm',
      stdin: { contents: "import { z } from 'zod'; import { TrainConfig } from './trainer/protocol/config.ts'; export default z.toJSONSchema(TrainConfig, { io: 'input' });", resolveDir: root, loader: 'ts' },
    });
    const { default: schema } = await import(pathToFileURL(outfile).href);
    writeFileSync('dist/agent-trainer.schema.json', `${JSON.stringify(schema, null, 2)}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function main() {
  if (!watch) rmSync('dist', { recursive: true, force: true });
  mkdirSync('dist', { recursive: true });
  copyRuntimes();
  await Promise.all([...builds.map((options) => (watch ? esbuild.context(options).then((context) => context.watch()) : esbuild.build(options))), writeConfigSchema(), writeRuntimeTypes()]);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
