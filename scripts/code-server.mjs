// Sets up a real VS Code (code-server) and a browser for the tests, once, in a cache folder outside the repository.
// Idempotent; an interrupted set-up leaves nothing half done, because the folder is renamed into place at the end.
// Run it alone with `node scripts/code-server.mjs`; the tests import `setUpCodeServer`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheFolder } from './cache-folder.mjs';

const codeServerVersion = '4.139.1';
const nodeVersion = '24'; // code-server 4.139 runs on Node 24 only; the project itself does not need it
const libraries = ['libkrb5-dev', 'libsecret-1-dev', 'libx11-dev', 'libxkbfile-dev']; // its native modules are compiled
const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const say = (text) => process.stderr.write(`${text}\n`);

/**
 * Where the real VS Code is, after installing what is missing.
 * @returns {{node: string, entry: string, server: string, chromium: string} | {missing: string, failed?: boolean}} paths, or one sentence saying what is missing; failed: it was tried
 */
export function setUpCodeServer() {
  if (process.platform !== 'linux') return { missing: 'The tests in a real VS Code run on Linux only; elsewhere use npm run test:desktop.' };
  const missingPackages = installSystemPackages();
  if (missingPackages.length > 0) return { missing: `The system packages ${missingPackages.join(' ')} are missing; install them (as root on Debian: apt-get install ${missingPackages.join(' ')}).` };

  const folder = join(cacheFolder, `code-server-${codeServerVersion}`);
  if (!existsSync(folder)) {
    const problem = install(folder);
    if (problem !== null) return { missing: problem, failed: true };
  }
  const package_ = join(folder, 'node_modules', 'code-server');
  return {
    node: join(folder, 'node_modules', 'node', 'bin', 'node'),
    entry: join(package_, 'out', 'node', 'entry.js'),
    server: join(package_, 'lib', 'vscode', 'out', 'server-main.js'),
    chromium: browsers.find((path) => existsSync(path)),
  };
}

/** Installs what is missing when it may (root on Debian); returns what is still missing. */
function installSystemPackages() {
  let missing = missingSystemPackages();
  const isDebianRoot = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (missing.length > 0 && isDebianRoot) {
    say(`Installing ${missing.join(' ')} …`);
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update', '-qq'], { stdio: ['ignore', 'ignore', 'inherit'], env: environment });
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { stdio: ['ignore', 'ignore', 'inherit'], env: environment });
    missing = missingSystemPackages();
  }
  return missing;
}

function missingSystemPackages() {
  const missing = browsers.some((path) => existsSync(path)) ? [] : ['chromium'];
  if (existsSync('/usr/bin/dpkg-query')) missing.push(...libraries.filter((name) => !isInstalled(name)));
  for (const [program, name] of [['make', 'make'], ['g++', 'g++'], ['python3', 'python3']]) {
    if (spawnSync(program, ['--version'], { stdio: 'ignore' }).error) missing.push(name);
  }
  return missing;
}

function isInstalled(name) {
  return spawnSync('dpkg-query', ['-W', '-f', '${Status}', name], { encoding: 'utf8' }).stdout?.includes('install ok installed') ?? false;
}

/** Installs Node 24, then code-server with it, in a temporary folder that is renamed at the end. Returns a problem or null. */
function install(folder) {
  mkdirSync(cacheFolder, { recursive: true });
  const work = mkdtempSync(join(cacheFolder, 'installing-'));
  const log = join(cacheFolder, 'code-server-install.log');
  try {
    say(`Installing code-server ${codeServerVersion} into ${folder} (a few minutes, once) …`);
    writeFileSync(join(work, 'package.json'), JSON.stringify({ private: true }));
    const steps = [
      ['install', `node@${nodeVersion}`, '--foreground-scripts', '--ignore-scripts=false'],
      ['install', `code-server@${codeServerVersion}`, '--foreground-scripts', '--ignore-scripts=false'],
    ];
    const path = join(work, 'node_modules', 'node', 'bin') + delimiter + process.env.PATH;
    // Under "npm test" it names the Node of that npm, and code-server's own check would believe it.
    const { npm_config_user_agent: _, ...environment } = process.env;
    writeFileSync(log, '');
    for (const step of steps) {
      const result = spawnSync('npm', [...step, '--no-audit', '--no-fund'], { cwd: work, env: { ...environment, PATH: path }, encoding: 'utf8', maxBuffer: 1 << 28 });
      writeFileSync(log, `${result.stdout}${result.stderr}`, { flag: 'a' });
      if (result.status !== 0) return `Installing code-server failed; the log is ${log}. Its last lines: ${readFileSync(log, 'utf8').trim().split('\n').slice(-3).join(' ')}`;
    }
    renameSync(work, folder);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const found = setUpCodeServer();
  if ('missing' in found) {
    say(found.missing);
    process.exitCode = found.failed ? 1 : 0; // a machine that cannot have it skips the tests that need it; a broken installation is an error
  } else {
    process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  }
}
