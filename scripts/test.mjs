// npm test: installs what is missing, then runs every check. `--only NAME` runs one of them.
// The last line is `N passed, N failed, N skipped` over all of them.
import { spawn } from 'node:child_process';
import { installDependencies, root } from './install.mjs';

const mocha = (pattern, timeoutMs) => ['--no-warnings', 'node_modules/mocha/bin/mocha.js', '--timeout', String(timeoutMs), pattern];
const stages = [
  { name: 'typecheck', commands: [['node_modules/typescript/bin/tsc', '-p', '.'], ['node_modules/typescript/bin/tsc', '-p', 'webview']] },
  { name: 'lint', commands: [['node_modules/eslint/bin/eslint.js', '.']] },
  { name: 'build', commands: [['scripts/build.mjs', '--quiet']] },
  { name: 'unit', commands: [mocha('test/unit/**/*.test.ts', 20_000)] },
  { name: 'integration', commands: [mocha('test/integration/**/*.test.ts', 180_000)] },
  { name: 'vscode', commands: [['scripts/code-server.mjs'], mocha('test/vscode/*.test.ts', 300_000)] },
];

const onlyIndex = process.argv.indexOf('--only');
const only = onlyIndex < 0 ? undefined : process.argv[onlyIndex + 1];
const chosen = stages.filter((stage) => only === undefined || stage.name === only || (only === 'vscode' && stage.name === 'build'));
if (chosen.length === 0) {
  process.stderr.write(`--only takes one of ${stages.map((stage) => stage.name).join(', ')}.\n`);
  process.exit(2);
}

try {
  installDependencies();
} catch (error) {
  process.stderr.write(`npm test: ${error.message}\n`);
  process.exit(1);
}
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
for (const stage of chosen) {
  process.stdout.write(`\n== ${stage.name}\n`);
  const started = Date.now();
  for (const command of stage.commands) await check(stage.name, command);
  process.stdout.write(`== ${stage.name}: ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
}
if (failures.length > 0) process.stdout.write(`\nFailed: ${failures.join(', ')}\n`);
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** Runs one command under this Node; a mocha run counts its tests, any other command counts as one. */
async function check(name, command) {
  const { code, output } = await runVisibly(command);
  const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}`, 'm').exec(output)?.[1] ?? 0);
  const isMocha = command.some((part) => part.includes('mocha'));
  const result = isMocha ? { passed: count('passing'), failed: count('failing'), skipped: count('pending') } : { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  if (code !== 0 && result.failed === 0) result.failed = 1; // died before it could count
  if (isMocha && code === 0 && result.passed + result.skipped === 0) result.failed = 1; // a pattern that matches nothing tests nothing
  for (const key of Object.keys(total)) total[key] += result[key];
  if (result.failed > 0) failures.push(name);
}

function runVisibly(command) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { output += text; process.stdout.write(text); });
    child.on('error', reject).on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
