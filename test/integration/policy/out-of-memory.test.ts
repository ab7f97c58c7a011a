import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

describe('out of memory', function () {
  let folder = '';
  let library = '';

  before(function () {
    folder = mkdtempSync(path.join(tmpdir(), 'agent-trainer-memory-'));
    library = path.join(folder, 'refuse.so');
    const source = path.join(import.meta.dirname, '../../fixtures/refuse-allocations.c');
    if (process.platform === 'linux' && spawnSync('cc', ['-shared', '-fPIC', '-O1', source, '-o', library, '-ldl']).status === 0) return;
    console.log('    skipped: needs Linux and a C compiler (cc)');
    this.skip();
  });

  after(() => { if (folder !== '') rmSync(folder, { recursive: true, force: true }); });

  /** What the child prints, line by line, where nothing gets more than `most` bytes at once. */
  const learn = (length: number, most: number) => {
    const child = path.join(import.meta.dirname, 'limited-learner.ts');
    const env = { ...process.env, LD_PRELOAD: library, REFUSE_ABOVE: String(most) };
    return execFileSync(process.execPath, ['--import', 'tsx', child, String(length)], { encoding: 'utf8', env }).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  it('is answered by smaller micro-batches; the step is made, and the next one too', () => {
    const [first, next] = learn(512, 40 * 2 ** 20) as [Record<string, number>, Record<string, number>];
    assert.ok(first['out_of_memory']! >= 1 && first['micro_batch_tokens']! < 16384, JSON.stringify(first));
    const [unlimited] = learn(512, 2 ** 40) as [Record<string, number>];
    assert.equal(unlimited['out_of_memory'], 0);
    assert.ok(Math.abs(first['grad_norm']! / unlimited['grad_norm']! - 1) < 1e-5, `${first['grad_norm']} ${unlimited['grad_norm']}`);
    assert.ok(Math.abs(first['loss']! - unlimited['loss']!) < 1e-5);
    assert.equal(first['trained_tokens'], 32 * 255);
    assert.equal(next['out_of_memory'], first['out_of_memory']);
  });

  it('ends with a message when not even one row fits, which says how long rows may be', () => {
    const [only] = learn(4096, 40 * 2 ** 20) as [Record<string, string>];
    assert.equal(only['code'], 'out_of_memory');
    const [, longest] = /not enough memory to learn from a row of 4096 tokens, even alone. Rows of up to about (\d+) tokens may fit/.exec(only['error']!) ?? [];
    assert.ok(Number(longest) > 256 && Number(longest) < 4096, only['error']);
  });
}).timeout(600_000);
