import type { SyntaxNode } from '@lezer/common';
import type { DetectedAgent } from '../agents/detect.ts';
import type { Edit } from '../wrap/edits.ts';
import type { AgentFunction } from '../wrap/functions.ts';
import type { Translator } from '../wrap/messages.ts';
import type { Site } from '../wrap/sites.ts';
import type { Source } from '../../trainer/source/syntax.ts';
import type { Dataset } from './dataset.ts';

export interface Fix { title: string; edits: Edit[] }

/** Something about an agent that will make training fail or mean nothing. */
export interface Finding {
  rule: string;
  severity: 'warning' | 'information';
  from: number;
  to: number;
  /** Translated. */
  message: string;
  fixes: Fix[];
}

/** An agent as the rules see it. */
export interface AgentView {
  l10n: Translator;
  source: Source;
  agent: DetectedAgent;
  target: AgentFunction;
  sites: Site[];
  /** The tasks this agent is given, where they are known. */
  data: Dataset | null;
}

export type Rule = (view: AgentView) => Finding[];

export const finding = (rule: string, severity: Finding['severity'], node: Pick<SyntaxNode, 'from' | 'to'>, message: string, fixes: Fix[] = []): Finding =>
  ({ rule, severity, from: node.from, to: node.to, message, fixes });
