// npm run bench -- NAME [--json]: runs bench/NAME.ts.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { installDependencies, root } from './install.mjs';

const [name, ...args] = process.argv.slice(2);
const file = path.join(root, 'bench', `${name}.ts`);
if (!name || !existsSync(file)) {
  const names = readdirSync(path.join(root, 'bench')).filter((entry) => entry.endsWith('.ts')).map((entry) => entry.slice(0, -3));
  process.stderr.write(`Which benchmark? npm run bench -- ${names.join(' | ')} [--json]\n`);
  process.exit(2);
}
installDependencies();
const result = spawnSync(process.execPath, ['--import', 'tsx', file, ...args], { cwd: root, stdio: 'inherit' });
process.exit(result.status ?? 1);
