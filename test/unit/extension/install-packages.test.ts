import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedPackages, installPackages, linkPackages } from '../../../src/trainer/install-packages.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { root } from '../../vscode/real-vscode.ts';
import { until } from '../../vscode/poll.ts';

const l10n = { t: (text: string, ...values: (string | number | boolean)[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)])) };
const failsWith = (code: string, pattern: RegExp) => (error: unknown): boolean => error instanceof TrainerError && error.code === code && pattern.test(error.message);

describe('installing the native packages', function () {
  if (process.platform === 'win32') return; // npm is scripted in sh
  let folder = '';
  let storage = '';
  let from = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'agent-trainer-packages-'));
    [storage, from] = [join(folder, 'storage'), join(folder, 'native')];
    mkdirSync(join(folder, 'bin'));
    mkdirSync(from);
    for (const name of ['package.json', 'package-lock.json']) writeFileSync(join(from, name), '{}');
  });
  afterEach(() => { rmSync(folder, { recursive: true, force: true }); });

  /** Installs with an npm whose `npm ci` is this script. */
  const install = (script: string, signal = new AbortController().signal): Promise<string> => {
    writeFileSync(join(folder, 'bin', 'npm'), `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${script}\n`);
    chmodSync(join(folder, 'bin', 'npm'), 0o755);
    return installPackages({ l10n, from, storage, node: { path: join(folder, 'bin', 'node'), version: process.version, environment: {} }, signal, log: () => {} });
  };
  const binaries = 'node_modules/onnxruntime-node/bin/napi-v6';
  const works = `[ "$*" = "ci --ignore-scripts --no-audit --no-fund" ] && [ -e package-lock.json ] && mkdir -p ${binaries}/${process.platform}/x64 ${binaries}/other/x64`;

  it('leaves them complete in a folder of this lock, without the binaries of other systems', async () => {
    assert.equal(await installedPackages(from, storage), null);
    const installed = await install(works);
    assert.equal(await installedPackages(from, storage), installed);
    assert.deepEqual(readdirSync(join(installed, binaries)), [process.platform]);
    assert.deepEqual(readdirSync(storage).length, 1);
    writeFileSync(join(from, 'package-lock.json'), '{ "other": "versions" }');
    assert.equal(await installedPackages(from, storage), null);
  });

  for (const [when, script, pattern] of [
    ['without a connection', 'echo "npm error code EAI_AGAIN" >&2; exit 1', /cannot reach its registry.*package of Agent Trainer for this platform/],
    ['when an archive is another than the locked one', 'echo "npm error code EINTEGRITY" >&2; echo "npm error sha512-a wanted but got sha512-b" >&2; exit 1', /npm error code EINTEGRITY npm error sha512-a wanted/],
  ] as const) {
    it(`says why it failed ${when}, and leaves nothing behind`, async () => {
      await assert.rejects(install(`mkdir node_modules; ${script}`), failsWith('environment', pattern));
      assert.deepEqual(readdirSync(storage), []);
    });
  }

  it('says that npm is missing', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = join(folder, 'bin');
    try {
      const options = { l10n, from, storage, node: { path: 'node', version: process.version, environment: {} }, signal: new AbortController().signal, log: () => {} };
      await assert.rejects(installPackages(options), failsWith('environment', /npm was not found.*agentTrainer\.nodePath/));
      assert.deepEqual(readdirSync(storage), []);
    } finally {
      process.env['PATH'] = path;
    }
  });

  it('stops npm and leaves nothing behind when it is cancelled', async () => {
    const abort = new AbortController();
    const mark = join(folder, 'started');
    const installing = assert.rejects(install(`echo $$ > ${mark}; exec sleep 600`, abort.signal), failsWith('cancelled', /not installed/));
    await until(() => existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n'));
    abort.abort();
    await installing;
    assert.throws(() => process.kill(Number(readFileSync(mark, 'utf8')), 0));
    assert.deepEqual(readdirSync(storage), []);
  });

  it('lets a program of the extension find them, also after a link that leads nowhere any more', async () => {
    const dist = join(folder, 'dist');
    mkdirSync(join(dist, 'trainer'), { recursive: true });
    for (const version of ['1', '2']) {
      mkdirSync(join(storage, version, 'node_modules', 'some-package'), { recursive: true });
      writeFileSync(join(storage, version, 'node_modules', 'some-package', 'index.mjs'), `export default ${version};`);
      writeFileSync(join(storage, version, 'node_modules', 'some-package', 'package.json'), '{ "exports": "./index.mjs" }');
      await linkPackages(l10n, join(storage, version), dist);
      const program = join(dist, 'trainer', `${version}.mjs`);
      writeFileSync(program, "import version from 'some-package'; console.log(version);");
      assert.equal(execFileSync(process.execPath, [program], { encoding: 'utf8' }), `${version}\n`);
      rmSync(join(storage, version), { recursive: true });
    }
  });
});

describe('the lock of the native packages', () => {
  it('holds each package that any of them needs, pinned and with its hash', async () => {
    const { lockedPackages } = await import(join(root, 'scripts', 'native-packages.mjs')) as { lockedPackages: (root: string) => { manifest: { dependencies: Record<string, string> }; lock: { packages: Record<string, Locked> } } };
    interface Locked { version: string; integrity?: string; resolved?: string; dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }
    const { manifest, lock: { packages: { '': own, ...packages } } } = lockedPackages(root);
    assert.deepEqual(Object.keys(manifest.dependencies), ['onnxruntime-node', 'libsql', 'esbuild']);
    assert.deepEqual(own, manifest);
    for (const [path, { version, integrity, resolved, dependencies, optionalDependencies }] of Object.entries(packages)) {
      assert.match(`${version} ${integrity}`, /^\d+\.\d+\.\d+\S* sha512-/, path);
      assert.equal(resolved, undefined);
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) assert.ok(Object.keys(packages).some((other) => other.endsWith(`node_modules/${name}`)), `${name} of ${path}`);
    }
    for (const name of ['@esbuild/win32-x64', '@libsql/darwin-arm64']) assert.ok(`node_modules/${name}` in packages, name);
  });
});
