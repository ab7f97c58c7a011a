import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { claim, livingOwner, newManager, retireManager } from '../../../trainer/runs/owner.ts';

describe('owner of a run', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'owner-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is alive until its manager retires', () => {
    const manager = newManager();
    claim(folder, manager);
    assert.equal(livingOwner(folder), process.pid);
    retireManager(manager);
    assert.equal(livingOwner(folder), null);
  });

  it('a run that nobody claimed, or with a broken file, has none', () => {
    assert.equal(livingOwner(path.join(folder, 'none')), null);
    writeFileSync(path.join(folder, 'owner.json'), '{"pid":');
    assert.equal(livingOwner(folder), null);
  });

  it('another process is alive while it runs, and a reused process id is not it', async () => {
    const other = spawn(process.execPath, ['--input-type=module', '-e', 'process.stdin.resume(); console.log("up")'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    const script = `import { claim, newManager } from ${JSON.stringify(new URL('../../../trainer/runs/owner.ts', import.meta.url).href)}; claim(${JSON.stringify(folder)}, newManager()); console.log('claimed'); process.stdin.resume();`;
    const claimer = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(claimer.stdout, 'data');
    assert.equal(livingOwner(folder), claimer.pid);

    const file = path.join(folder, 'owner.json');
    const claimed = JSON.parse(readFileSync(file, 'utf8')) as object;
    if (process.platform === 'linux') {
      writeFileSync(file, JSON.stringify({ ...claimed, pid: other.pid }));
      assert.equal(livingOwner(folder), null);
      writeFileSync(file, JSON.stringify(claimed));
    }
    claimer.kill('SIGKILL');
    other.kill('SIGKILL');
    await Promise.all([once(claimer, 'close'), once(other, 'close')]);
    assert.equal(livingOwner(folder), null);
  });
});
