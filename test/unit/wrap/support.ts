import assert from 'node:assert/strict';
import { detectAgents } from '../../../src/agents/detect.ts';
import { applyEdits } from '../../../src/wrap/edits.ts';
import { planWrap, wrapped } from '../../../src/wrap/plan.ts';
import type { Plan } from '../../../src/wrap/plan.ts';
import { errors, recordWrap, unwrap } from '../../../src/wrap/unwrap.ts';
import type { WrapRecord } from '../../../src/wrap/unwrap.ts';

/** Messages in English. */
export const l10n = { t: (message: string, ...values: unknown[]): string => message.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)])) };

export function planOf(fileName: string, text: string, name: string): Plan {
  const plan = planWrap(l10n, fileName, text, { line: 0, name });
  return plan.kind === 'plan' ? plan : assert.fail(`${plan.reason}\n${text}`);
}

export function refusalOf(fileName: string, text: string, name: string): string {
  const plan = planWrap(l10n, fileName, text, { line: 0, name });
  return plan.kind === 'refusal' ? plan.reason : assert.fail(wrapped(text, plan));
}

/** Wraps a function and checks what must hold after any wrap: the file parses as well as before, and the function is found as an agent. */
export function wrap(fileName: string, text: string, name: string, known?: WrapRecord): { text: string; plan: Plan; record: WrapRecord } {
  const plan = planOf(fileName, text, name);
  const after = wrapped(text, plan);
  assert.ok(errors(fileName, after) <= errors(fileName, text), `does not parse any more:\n${after}`);
  const before = detectAgents(fileName, text).map((agent) => agent.name);
  assert.deepEqual(detectAgents(fileName, after).map((agent) => agent.name).sort(), [...before, plan.agent].sort(), after);
  return { text: after, plan, record: recordWrap(known, text, plan.agent, plan.edits) };
}

export function unwrapped(fileName: string, text: string, agent: string, record: WrapRecord): { text: string; record: WrapRecord } {
  const result = unwrap(fileName, text, agent, record) ?? assert.fail(`cannot be unwrapped:\n${text}`);
  return { text: applyEdits(text, result.edits), record: result.record };
}
