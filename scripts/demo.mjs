// npm run demo: install what is missing, build, train the sample SQL agent, write demo-report.html.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { installDependencies, root, run } from './install.mjs';

const args = process.argv.slice(2);
const unknown = args.filter((arg, index) => arg !== '--json' && arg !== '--seed' && args[index - 1] !== '--seed');
if (unknown.length > 0) {
  process.stderr.write(`npm run demo takes --seed N and --json, not ${unknown.join(' ')}. Options follow a double dash: npm run demo -- --seed 1\n`);
  process.exit(2);
}

try {
  installDependencies();
  run(process.execPath, ['scripts/build.mjs', '--quiet']);
} catch (error) {
  process.stderr.write(`demo: ${error.message}\n`);
  process.exit(1);
}

const cli = path.join(root, 'dist', 'trainer', 'cli.js');
const json = args.includes('--json');
const seed = args.includes('--seed') ? ['--seed', args[args.indexOf('--seed') + 1] ?? ''] : [];
const training = spawn(process.execPath, [cli, 'train', 'examples/sql-agent/agent-trainer.json', '--json', ...seed], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => training.kill(signal));
let output = '';
training.stdout.setEncoding('utf8').on('data', (text) => { output += text; });
training.on('close', (code) => {
  if (code !== 0) process.exit(code ?? 1);
  const result = JSON.parse(output);
  run(process.execPath, [cli, 'report', result.run_id, '--out', 'demo-report.html']);
  if (json) process.stdout.write(output);
  else run(process.execPath, [cli, 'runs', result.run_id], { stdio: 'inherit' });
});
