import assert from 'node:assert/strict';
import { balancedTasks, mergedTexts } from '../../../trainer/optimize/merge.ts';
import { paretoFront } from '../../../trainer/optimize/pareto.ts';
import { drawWeighted } from '../../../trainer/optimize/random.ts';
import { makeLab, promptNamed, scored, tasksNamed } from './support.ts';

const ids = (front: { item: { candidate_id: string }; weight: number }[]) => front.map(({ item, weight }) => `${item.candidate_id}×${weight}`);

describe('optimize: Pareto front', () => {
  it('keeps whom some task needs, weighted by the tasks they are best on', () => {
    const lab = makeLab();
    const specialist = scored(lab, { p: 'a' }, [1, 0, 0, 0]);
    const allrounder = scored(lab, { p: 'b' }, [0, 1, 1, 0.5]);
    const beaten = scored(lab, { p: 'c' }, [0, 1, 0.5, 0]);
    assert.deepEqual(ids(paretoFront([specialist, allrounder, beaten])), ['c0×1', 'c1×3']);
  });

  it('of equals only the better on average stays', () => {
    const lab = makeLab();
    const weak = scored(lab, { p: 'a' }, [1, 0, 0]);
    const strong = scored(lab, { p: 'b' }, [1, 1, 0]);
    assert.deepEqual(ids(paretoFront([weak, strong])), ['c1×3']);
  });

  it('a task without a score needs nobody; null is not zero', () => {
    const lab = makeLab();
    const unknown = scored(lab, { p: 'a' }, [null, 0.2]);
    const known = scored(lab, { p: 'b' }, [-1, 0.1]);
    assert.deepEqual(ids(paretoFront([unknown, known])), ['c0×1', 'c1×1']);
  });

  it('is drawn from by frequency, the same at the same place', () => {
    const items = [{ item: 'rare', weight: 1 }, { item: 'often', weight: 9 }];
    const drawn = Array.from({ length: 2000 }, (_, i) => drawWeighted(items, 7, 'parent', i));
    const share = drawn.filter((item) => item === 'rare').length / drawn.length;
    assert.ok(share > 0.07 && share < 0.13, String(share));
    assert.deepEqual(drawn, Array.from({ length: 2000 }, (_, i) => drawWeighted(items, 7, 'parent', i)));
  });
});

describe('optimize: merging', () => {
  const lab = () => makeLab({ prompts: [promptNamed('a', 'a0'), promptNamed('b', 'b0'), promptNamed('c', 'c0')] });

  it('takes of each prompt what changed, and where both did the better one', () => {
    const { pool, ...rest } = lab();
    const inLab = { pool, ...rest } as ReturnType<typeof lab>;
    const root = scored(inLab, { a: 'a0', b: 'b0', c: 'c0' }, [0, 0]);
    const left = scored(inLab, { a: 'a1', b: 'b0', c: 'c1' }, [1, 0], { parents: [root] });
    const right = scored(inLab, { a: 'a0', b: 'b2', c: 'c2' }, [0.5, 1], { parents: [root] });
    assert.deepEqual(mergedTexts(left, right, pool), { a: 'a1', b: 'b2', c: 'c2' });
    assert.deepEqual(mergedTexts(right, left, pool), { a: 'a1', b: 'b2', c: 'c2' });
  });

  it('makes nothing of a candidate and its ancestor, of strangers, of a better ancestor, or of what is there already', () => {
    const own = lab();
    const root = scored(own, { a: 'a0', b: 'b0', c: 'c0' }, [0, 0]);
    const child = scored(own, { a: 'a1', b: 'b0', c: 'c0' }, [1, 0], { parents: [root] });
    const grandchild = scored(own, { a: 'a1', b: 'b1', c: 'c0' }, [1, 1], { parents: [child] });
    const stranger = scored(own, { a: 'x', b: 'y', c: 'z' }, [1, 1]);
    const same = scored(own, { a: 'a0', b: 'b0', c: 'c0' }, [1, 1], { parents: [root] });
    assert.equal(mergedTexts(child, grandchild, own.pool), null);
    assert.equal(mergedTexts(child, stranger, own.pool), null);
    assert.equal(mergedTexts(child, same, own.pool), null);
    const high = lab();
    const good = scored(high, { a: 'a0', b: 'b0', c: 'c0' }, [1, 1]);
    const [x, y] = [scored(high, { a: 'a1', b: 'b0', c: 'c0' }, [1, 0], { parents: [good] }), scored(high, { a: 'a0', b: 'b1', c: 'c0' }, [0, 1], { parents: [good] })];
    assert.equal(mergedTexts(x, y, high.pool), null);
  });

  it('is tried on tasks of all three sorts in turn', () => {
    const own = lab();
    const a = scored(own, { a: '1', b: '', c: '' }, [1, 1, 1, 0, 0, 0.5, 0.5]);
    const b = scored(own, { a: '2', b: '', c: '' }, [0, 0, 0, 1, 1, 0.5, 0.5]);
    assert.deepEqual(balancedTasks(tasksNamed('v', 7), a, b, 5).map(({ id }) => id), ['v0', 'v3', 'v5', 'v1', 'v4']);
  });
});
