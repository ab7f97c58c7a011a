import assert from 'node:assert/strict';
import { lineDiff } from '../../../trainer/cli/line-diff.ts';

describe('line diff', () => {
  it('shows each changed place with its line, and nothing that stayed', () => {
    assert.deepEqual(lineDiff('a\nb\nc\nd\ne\nf', 'a\nB\nc\nd\nE\ne2\nf'), ['@@ line 2', '- b', '+ B', '@@ line 5', '- e', '+ E', '+ e2']);
  });
  it('lines that only come or go', () => {
    assert.deepEqual(lineDiff('a\nb', 'a\nx\nb'), ['@@ line 2', '+ x']);
    assert.deepEqual(lineDiff('a\nx\nb', 'a\nb'), ['@@ line 2', '- x']);
    assert.deepEqual(lineDiff('same', 'same'), []);
  });
});
