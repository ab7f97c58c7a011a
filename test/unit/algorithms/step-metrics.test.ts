import assert from 'node:assert/strict';
import { staleness } from '../../../trainer/algorithms/step-metrics.ts';
import type { TracedRollout } from '../../../trainer/algorithms/training-batch.ts';
import { attr, type Span } from '../../../trainer/protocol/span.ts';

const traced = (...versions: (number | undefined)[]) => ({
  spans: [
    { name: 'other', attributes: { [attr.policyVersion]: 0 } },
    ...versions.map((version) => ({ name: 'chat', attributes: { [attr.operationName]: 'chat', ...(version === undefined ? {} : { [attr.policyVersion]: version }) } })),
  ] as unknown as Span[],
}) as TracedRollout;

describe('staleness', () => {
  it('is the mean number of updates since the calls were sampled', () => {
    assert.equal(staleness([traced(7, 7), traced(7)], 7), 0);
    assert.equal(staleness([traced(7, 5), traced(4, undefined)], 7), (0 + 2 + 3) / 3);
  });

  it('is unknown when no call names its version', () => {
    assert.equal(staleness([traced(undefined), traced()], 7), null);
  });
});
