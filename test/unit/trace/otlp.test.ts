import assert from 'node:assert/strict';
import { fileRollouts } from '../../../src/views/file-rollouts.ts';
import { spanDetail } from '../../../src/views/span-detail.ts';
import { spanRow } from '../../../src/views/span-row.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { fromOtlp, toOtlp } from '../../../trainer/protocol/otlp.ts';
import { recordedOperations } from '../../../trainer/protocol/replay.ts';
import { attr, spanNames } from '../../../trainer/protocol/span.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';
import { callOf, operationOf, spanOf } from '../adapter/support.ts';

describe('OTLP JSON', () => {
  const rollout = aRollout(aRun('dev'), 0, { outcome: 'scored', reward: 1 });
  const spans = spansOf(rollout, 1);

  it('what was exported comes back', () => {
    const back = fromOtlp(JSON.stringify(toOtlp(spans)), 'a.json');
    for (const [i, span] of spans.entries()) {
      const { start_time, end_time, resource, status } = back[i]!;
      assert.deepEqual({ ...back[i]!, status: { status_code: status.status_code } }, { ...span, start_time, end_time, resource });
      assert.ok(Math.abs(start_time - span.start_time) < 2e-6 && Math.abs((end_time ?? 0) - (span.end_time ?? 0)) < 2e-6);
      assert.deepEqual(resource.attributes, { 'service.name': 'agent-trainer' });
    }
  });

  it('times are whole nanoseconds as text', () => {
    const [span] = toOtlp(spans).resourceSpans[0]?.scopeSpans?.[0]?.spans ?? [];
    assert.equal(span?.startTimeUnixNano, '1764550001000000000');
    assert.equal(span.endTimeUnixNano, '1764550001620000000');
  });

  /** In the shape VS Code's agent debug log is exported in: GenAI conventions, parts, nested values, ids in hex. */
  const foreign = {
    resourceSpans: [{
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'copilot-chat' } }] },
      scopeSpans: [{
        scope: { name: 'copilot-chat', version: '1' },
        spans: [
          { traceId: 'AB'.repeat(16), spanId: '00000000000000a1', parentSpanId: '', name: 'invoke_agent copilot', kind: 1, startTimeUnixNano: '1764550000000000000', endTimeUnixNano: '1764550003000000000', attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'invoke_agent' } }], status: {} },
          {
            traceId: 'AB'.repeat(16), spanId: '00000000000000a2', parentSpanId: '00000000000000a1', name: 'chat m', startTimeUnixNano: 1764550001000000000, endTimeUnixNano: '1764550002000000000',
            attributes: [
              { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }, { key: 'gen_ai.request.model', value: { stringValue: 'm' } }, { key: 'gen_ai.usage.prompt_tokens', value: { intValue: 7 } }, { key: 'gen_ai.usage.output_tokens', value: { intValue: '3' } },
              { key: 'gen_ai.input.messages', value: { arrayValue: { values: [{ kvlistValue: { values: [{ key: 'role', value: { stringValue: 'user' } }, { key: 'parts', value: { arrayValue: { values: [{ kvlistValue: { values: [{ key: 'type', value: { stringValue: 'text' } }, { key: 'content', value: { stringValue: 'hi' } }] } }] } } }] } }] } } },
            ],
            status: { code: 'STATUS_CODE_ERROR', message: 'quota' },
          },
          { traceId: 'AB'.repeat(16), spanId: '00000000000000a3', parentSpanId: '00000000000000a1', name: 'execute_tool read', startTimeUnixNano: '1764550002000000000', endTimeUnixNano: '1764550002500000000', attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } }, { key: 'gen_ai.tool.name', value: { stringValue: 'read' } }, { key: 'gen_ai.tool.call.result', value: { stringValue: '{"lines":3}' } }] },
        ],
      }],
    }],
  };

  it("opens another tool's trace: agents, calls, tools and errors", () => {
    const spansOfFile = fromOtlp(JSON.stringify(foreign), 'agent.json');
    assert.deepEqual(spansOfFile.map(spanRow).map(({ kind, title, note, failed, parent_id }) => [kind, title, note, failed, parent_id]), [
      ['operation', 'invoke_agent copilot', '', false, null], ['llm', 'm', '7 → 3 tokens', true, '00000000000000a1'], ['operation', 'read', '', false, '00000000000000a1'],
    ]);
    const chat = spanDetail(spansOfFile[1]!, new Map(), false).sections.find((section) => section.kind === 'chat');
    assert.deepEqual(chat?.messages.map(({ role, text }) => [role, text]), [['user', 'hi']]);
    const [trace] = fileRollouts(spansOfFile);
    assert.deepEqual([trace?.rollout.rollout_id, trace?.rollout.attempt?.outcome, trace?.rollout.attempt?.reward], ['ab'.repeat(16), 'unscored', null]);
  });

  it('reads one object per line, as exporters append them', () => {
    assert.equal(fromOtlp(`${JSON.stringify(foreign)}\n${JSON.stringify(foreign)}\n`, 'log.jsonl').length, 6);
  });

  it('says what is wrong with a file', () => {
    assert.throws(() => fromOtlp('hello', 'x.json'), (error) => error instanceof TrainerError && /x\.json is not JSON/.test(error.message));
    assert.throws(() => fromOtlp('{"spans":[]}', 'x.json'), (error) => error instanceof TrainerError && /x\.json: resourceSpans/.test(error.message));
  });
});

describe('recorded operations', () => {
  const plain = { [attr.operationInput]: '[1]', [attr.operationOutput]: '2', [attr.operationReplayable]: true };
  const step = (name: string, fields: object = {}, attributes = {}) => operationOf(name, { parent_id: 'root', attributes: { [attr.operationLabel]: name, ...plain, ...attributes }, ...fields });
  const names = (...spans: ReturnType<typeof step>[]): string[] => recordedOperations(spans).map(({ name }) => name);

  it('are those that stand for running them', () => {
    assert.deepEqual(recordedOperations([step('tool', {}, { [attr.operationAsync]: true })]), [{ name: 'tool', input: '[1]', output: '2', async: true }]);
    assert.deepEqual(names(step('handle', {}, { [attr.operationReplayable]: false }), step('broken', { status: { status_code: 'ERROR' } }), operationOf('root', { span_id: 'root', attributes: plain })), []);
  });

  it('are not those inside which the model was called, a reward or a message emitted', () => {
    const outer = step('outer', { span_id: 'o' });
    assert.deepEqual(names(outer, step('inner', { span_id: 'i', parent_id: 'o' })), ['outer', 'inner']);
    for (const inside of [callOf({}, { parent_id: 'i' }), spanOf({ name: spanNames.reward, parent_id: 'i' }), spanOf({ name: spanNames.message, parent_id: 'i' })]) {
      assert.deepEqual(names(outer, step('inner', { span_id: 'i', parent_id: 'o' }), step('other'), inside), ['other']);
    }
  });
});
