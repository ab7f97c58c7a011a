/**
 * How fast the agents of a workspace are found, and how long the extension host is held up meanwhile.
 *
 *   npm run -s bench -- detect [--json] [--files N]
 *
 * Writes a tree of N source files (10,000) like those of a large project, half Python, half TypeScript: a few kilobytes each, one in fifty
 * with an agent (a wrapped one or a function that calls a model), one in fifty that only mentions such libraries, and a folder that git ignores.
 * Then the shipped worker (bundled as in dist/) scans it as the extension has it scan: `seconds` from the question to the answer, in a new
 * worker, its start included; the files were just written, so the disk's own speed is not in it. `blocked_ms` is the longest time in which
 * this thread, which stands for the extension host, did not get round to its event loop (timer resolution 1 ms).
 * `cpu_seconds` is what all threads of the process used meanwhile: on a busy machine it says more than `seconds`.
 * Fails when not exactly the agents that were written are found.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { AgentReader } from '../src/agents/scan/agent-reader.ts';
import { workspaceTree } from './fixtures/workspace-tree.ts';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, files: { type: 'string', default: '10000' } } });

const folder = mkdtempSync(join(tmpdir(), 'agent-trainer-detect-'));
try {
  const tree = workspaceTree(Number(values.files));
  for (const { path, text } of tree.files) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const outfile = join(folder, '.bench', 'agent-worker.cjs');
  await build({ entryPoints: [join(import.meta.dirname, '..', 'src', 'agents', 'scan', 'worker.ts')], outfile, bundle: true, platform: 'node', target: 'node20', format: 'cjs', logLevel: 'warning' });

  const reader = new AgentReader(outfile);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const folders = [{ path: folder, exclude: { '**/.git': true, '**/.DS_Store': true, '.bench': true } }];
  delay.enable();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const { files, parsed, found } = await reader.scan(folders);
  const seconds = (performance.now() - started) / 1000;
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const again = performance.now();
  await reader.scan(folders);
  const rescan_seconds = (performance.now() - again) / 1000;
  reader.dispose();

  const agents = found.flatMap(({ path, agents: inFile }) => inFile.map((agent) => `${path.slice(folder.length + 1)}:${agent.name} ${agent.kind} ${agent.framework}`)).sort();
  const missing = tree.agents.filter((agent) => !agents.includes(agent));
  const invented = agents.filter((agent) => !tree.agents.includes(agent));
  if (missing.length > 0 || invented.length > 0) throw new Error(`Not the agents that were written. Missing: ${missing.slice(0, 5).join(', ') || 'none'}. Invented: ${invented.slice(0, 5).join(', ') || 'none'}.`);

  const result = { files, seconds: round(seconds, 3), blocked_ms: round(delay.max / 1e6 - 1, 1), cpu_seconds: round((user + system) / 1e6, 3), megabytes: round(tree.bytes / 1e6, 1), parsed, agents: agents.length, rescan_seconds: round(rescan_seconds, 3) };
  console.log(values.json ? JSON.stringify(result) : `${files} files (${result.megabytes} MB, ${parsed} parsed, ${agents.length} agents) in ${result.seconds} s; host held up for at most ${result.blocked_ms} ms; again in ${result.rescan_seconds} s`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
