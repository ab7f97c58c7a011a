import assert from 'node:assert/strict';
import { attr, type Span } from '../../../trainer/protocol/span.ts';
import { outcomeOf } from '../../../trainer/runner/classify.ts';
import type { AgentResult } from '../../../trainer/runner/messages.ts';

const call = (status_code: 'OK' | 'ERROR', attributes: Span['attributes'] = {}) => ({ status: { status_code, description: 'why' }, attributes: { [attr.operationName]: 'chat', ...attributes } }) as unknown as Span;
const result = (agent: AgentResult, emitted?: number, lastCall?: Span) => outcomeOf({ kind: 'result', result: agent }, emitted, lastCall);
const raised = (lastCall?: Span, gateway = false) => result({ kind: 'raised', error: 'E: x', gateway }, 1, lastCall).outcome;

describe('outcomeOf', () => {
  it('takes the returned reward, else the last emitted one, never 0 for none', () => {
    assert.deepEqual(result({ kind: 'reward', value: 0.5 }, 0.25), { outcome: 'scored', reward: 0.5 });
    assert.deepEqual(result({ kind: 'none' }, 0), { outcome: 'scored', reward: 0 });
    assert.equal(result({ kind: 'none' }).outcome, 'unscored');
    assert.equal(result({ kind: 'none' }).reward, undefined);
  });

  it('does not score an agent that failed after emitting a reward', () => {
    assert.equal(raised(), 'agent_error');
    assert.equal(result({ kind: 'invalid', description: 'bool True' }, 1).outcome, 'agent_error');
    assert.equal(outcomeOf({ kind: 'died', reason: 'gone' }, 1, undefined).outcome, 'agent_error');
    assert.equal(outcomeOf({ kind: 'timeout', seconds: 5 }, 1, undefined).outcome, 'timeout');
    assert.equal(outcomeOf({ kind: 'cancelled' }, 1, undefined).outcome, 'cancelled');
  });

  it('looks at the last LLM call for the cause of an error', () => {
    assert.equal(raised(call('OK')), 'agent_error');
    assert.equal(raised(call('ERROR', { [attr.errorType]: 'context_length_exceeded', [attr.httpStatus]: 400 })), 'context_overflow');
    assert.equal(raised(call('ERROR', { [attr.httpStatus]: 400 })), 'agent_error');
    assert.equal(raised(call('ERROR', { [attr.httpStatus]: 429 })), 'infra_error');
    assert.equal(raised(call('ERROR', { [attr.httpStatus]: 502 })), 'infra_error');
    assert.equal(raised(undefined, true), 'infra_error');
  });
});
