import { attr, spanNames, type Attributes, type Span } from '../../../trainer/protocol/span.ts';

export const rollout = { rollout_id: 'ro-1' };

let ids = 0;
export function spanOf(fields: Partial<Span> = {}): Span {
  ids += 1;
  return {
    rollout_id: 'ro-1', attempt_id: 'at-1', sequence_id: ids, trace_id: 'f'.repeat(32), span_id: `span-${ids}`, parent_id: null, name: 'chat policy',
    status: { status_code: 'OK' }, attributes: {}, events: [], start_time: ids, end_time: ids + 1, resource: { attributes: {} }, ...fields,
  };
}

export function operationOf(label: string, fields: Partial<Span> = {}): Span {
  return spanOf({ name: spanNames.operation, attributes: { [attr.operationLabel]: label }, ...fields });
}

/** A trainable LLM call; `attributes` change it, `undefined` removes one. */
export function callOf(attributes: Record<string, Attributes[string] | undefined> = {}, fields: Partial<Span> = {}): Span {
  const all = {
    [attr.operationName]: 'chat', [attr.promptTokenIds]: [1, 2], [attr.responseTokenIds]: [3, 4], [attr.responseLogprobs]: [-0.5, -0.25],
    [attr.requestTemperature]: 1, [attr.requestTopP]: 1, [attr.requestTopK]: 0, [attr.policyVersion]: 6, ...attributes,
  };
  return spanOf({ attributes: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)), ...fields });
}
