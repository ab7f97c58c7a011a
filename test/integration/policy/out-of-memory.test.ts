import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';

describe('out of memory', function () {
  before(function () { if (process.platform !== 'linux') this.skip(); });

  /** What the child prints, line by line, with 500 MB beyond what it holds before the rows. */
  const learn = (length: number) => {
    const child = path.join(import.meta.dirname, 'limited-learner.ts');
    return execFileSync(process.execPath, ['--import', 'tsx', child, '500', String(length)], { encoding: 'utf8' }).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  it('is answered by smaller micro-batches; the step is made, and the next one too', () => {
    const [first, next] = learn(512) as [Record<string, number>, Record<string, number>];
    assert.ok(first['out_of_memory']! >= 1 && first['micro_batch_tokens']! < 16384, JSON.stringify(first));
    assert.ok(Number.isFinite(first['loss']) && first['grad_norm']! > 0);
    assert.equal(first['trained_tokens'], 32 * 255);
    assert.equal(next['out_of_memory'], first['out_of_memory']);
  });

  it('ends with a message when not even one row fits, which says how long rows may be', () => {
    const [only] = learn(4096) as [Record<string, string>];
    assert.equal(only['code'], 'out_of_memory');
    const [, longest] = /not enough memory to learn from a row of 4096 tokens, even alone. Rows of up to about (\d+) tokens may fit/.exec(only['error']!) ?? [];
    assert.ok(Number(longest) > 256 && Number(longest) < 2048, only['error']);
  });
}).timeout(600_000);
