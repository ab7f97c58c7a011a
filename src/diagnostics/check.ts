import { detectAgents } from '../agents/detect.ts';
import type { DetectedAgent } from '../agents/detect.ts';
import { functionOfAgent, functionsOf } from '../wrap/functions.ts';
import type { Translator } from '../wrap/messages.ts';
import { injectedNames } from '../wrap/point-agent.ts';
import { sitesOf } from '../wrap/sites.ts';
import { parseSource } from '../../trainer/source/syntax.ts';
import type { Dataset } from './dataset.ts';
import type { AgentView, Finding, Rule } from './finding.ts';
import { answerLeak } from './rules/answer-leak.ts';
import { datasetFields, rowFindings } from './rules/dataset-fields.ts';
import { fixedEndpoint } from './rules/fixed-endpoint.ts';
import { noReward } from './rules/no-reward.ts';
import { rewardTwice } from './rules/reward-twice.ts';
import { templateBraces } from './rules/template-braces.ts';
import { unreachableModel } from './rules/unreachable-model.ts';

export const rules: Rule[] = [rewardTwice, answerLeak, fixedEndpoint, noReward, templateBraces, datasetFields, unreachableModel];

/** What a check found in the agents' file and in the datasets they are given. */
export interface Checked { findings: Finding[]; rows: { file: string; findings: Finding[] }[] }

export interface CheckOptions {
  l10n: Translator;
  fileName: string;
  text: string;
  /** The tasks of an agent; null where they are not known. */
  dataOf: (agent: DetectedAgent) => Promise<Dataset[]>;
  /** Awaited between two steps, so that the thread stays free; true: nobody wants the result any more. */
  breathe: () => Promise<boolean>;
}

/** Checks the agents of a text; null when it was cancelled. Nothing is run. */
export async function checkAgents({ l10n, fileName, text, dataOf, breathe }: CheckOptions): Promise<Checked | null> {
  const agents = detectAgents(fileName, text);
  const source = agents.length === 0 ? null : parseSource(fileName, text);
  const result: Checked = { findings: [], rows: [] };
  if (source === null) return result;
  const functions = functionsOf(source);
  for (const agent of agents) {
    const target = functionOfAgent(source, functions, agent);
    if (target === undefined) continue;
    const datasets = await dataOf(agent);
    if (await breathe()) return null;
    const view: AgentView = { l10n, source, agent, target, sites: sitesOf(source, target, injectedNames(source, target)), data: datasets[0] ?? null };
    for (const rule of rules) {
      result.findings.push(...rule(view));
      if (await breathe()) return null;
    }
    for (const data of datasets) result.rows.push({ file: data.file, findings: rowFindings(view, data) });
  }
  result.findings = unique(result.findings);
  return result;
}

/** Agents share templates and clients of their module; each is told once. */
function unique(findings: Finding[]): Finding[] {
  return [...new Map(findings.map((each) => [`${each.rule}:${each.from}:${each.to}`, each])).values()];
}
