import assert from 'node:assert/strict';
import { applyEdits } from '../../../src/wrap/edits.ts';
import { checkAgents } from '../../../src/diagnostics/check.ts';
import type { Checked } from '../../../src/diagnostics/check.ts';
import { readDataset } from '../../../src/diagnostics/dataset.ts';
import type { Finding } from '../../../src/diagnostics/finding.ts';
import { l10n } from '../wrap/support.ts';

/** Checks a file; `data` is the text of the dataset its agents are given. */
export async function check(fileName: string, text: string, data: string | null = null): Promise<Checked> {
  const datasets = data === null ? [] : [readDataset('tasks.jsonl', '/tasks.jsonl', data)];
  return await checkAgents({ l10n, fileName, text, dataOf: async () => datasets, breathe: async () => false }) ?? assert.fail('cancelled');
}

/** What one rule finds, as the marked text. */
export async function marked(rule: string, fileName: string, text: string, data: string | null = null): Promise<string[]> {
  const { findings } = await check(fileName, text, data);
  return findings.filter((each) => each.rule === rule).map(({ from, to }) => text.slice(from, to));
}

/** The text after the first fix of a rule's first finding; the finding must be gone from it. */
export async function fixed(rule: string, fileName: string, text: string, data: string | null = null): Promise<string> {
  const before = (await check(fileName, text, data)).findings.filter((each) => each.rule === rule);
  const fix = before[0]?.fixes[0] ?? assert.fail(`${rule} offers no fix`);
  const after = applyEdits(text, fix.edits);
  const left = (await check(fileName, after, data)).findings.filter((each) => each.rule === rule);
  assert.ok(left.length < before.length, `${fix.title} left it as it was:\n${after}`);
  return after;
}

export const python = (body: string, parameters = 'task, llm'): string =>
  `import requests\nfrom openai import OpenAI\nfrom agent_trainer import emit_reward, rollout\n\n@rollout\ndef agent(${parameters}):\n${body.split('\n').map((line) => `    ${line}`).join('\n')}\n`;

export const script = (body: string, parameters = 'task: Task, { llm }: { llm: LLM }'): string =>
  `import OpenAI from 'openai';\nimport { emitReward, rollout, type LLM } from 'agent-trainer/runtime';\n\nexport const agent = rollout(async (${parameters}) => {\n${body.split('\n').map((line) => `  ${line}`).join('\n')}\n});\n`;

export type { Finding };
