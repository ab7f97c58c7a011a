import assert from 'node:assert/strict';
import { compact } from '../../../src/views/format.ts';
import { hardwareText } from '../../../trainer/cli/commands/hardware.ts';
import { significant } from '../../../trainer/protocol/significant.ts';

describe('significant digits', () => {
  it('are written out, however large or small the number', () => {
    assert.deepEqual([0.0035, 1.26, 99.96, 123.4, 3330.4].map((value) => significant(value, 3)), ['0.0035', '1.26', '100', '123', '3330']);
    assert.deepEqual([127.4, 0.0102].map((value) => significant(value, 2)), ['130', '0.01']);
  });

  it('lose no zero before the point', () => {
    assert.deepEqual([10, 20.04, 99.96].map(compact), ['10', '20', '100']);
  });

  it('stand in what the hardware does', () => {
    const text = hardwareText({ provider: 'cpu', reason: '', trials: [{ provider: 'cpu', refused: null, timing: { train_ms: 3333.3, decode_ms: 58.21, per_token: 20.52 } }] });
    assert.equal(text, '* CPU           20.5 ms per token sampled and trained on (training step 3330 ms, decode step 58.2 ms)');
  });
});
