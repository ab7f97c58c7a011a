import assert from 'node:assert/strict';
import { decimal, duration, oneLine, printable, pValue, signed, sparkline, table } from '../../../trainer/cli/format.ts';

describe('terminal formats', () => {
  it('shows a missing number as missing, not as zero', () => {
    assert.equal(decimal(null), '–');
    assert.equal(decimal(undefined), '–');
    assert.equal(decimal(0), '0.000');
  });

  it('shows durations, signs and p-values', () => {
    assert.deepEqual([duration(7.4), duration(75), duration(3725)], ['7s', '1m 15s', '1h 2m']);
    assert.deepEqual([signed(0.25), signed(-0.25), signed(0)], ['+0.250', '−0.250', '+0.000']);
    assert.deepEqual([pValue(0.00001), pValue(0.0312)], ['p < 0.0001', 'p = 0.0312']);
  });

  it('draws the last values as bars and stays inside the range', () => {
    assert.equal(sparkline([-1, 0, 0.5, 1, 2], 4), '▁▅██');
  });

  it('lets no text of an agent command the terminal, and keeps every alphabet', () => {
    assert.equal(printable('a\u001b[2Jb\u0000\u009bc\u202e\td\nü😀é한'), 'a�[2Jb��c�\td\nü😀é한');
  });

  it('makes one line of any error', () => {
    assert.equal(oneLine('Error: no\n  such   file\n    at async read (node:fs:1:2)\n    at x'), 'Error: no such file');
  });

  it('aligns columns', () => {
    assert.equal(table([['name', 'n'], ['a', '12'], ['longer', '3']]), 'name     n\na       12\nlonger   3');
  });
});
