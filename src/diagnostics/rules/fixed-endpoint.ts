import { pointAgent } from '../../wrap/point-agent.ts';
import type { Rule } from '../finding.ts';
import { finding } from '../finding.ts';

/** A server, key or model that is written into the agent: its calls pass the trainer by, so there is nothing to learn from. */
export const fixedEndpoint: Rule = ({ l10n, source, target, sites }) => {
  const fixed = sites.filter((site) => site.fixed !== null);
  if (fixed.length === 0) return [];
  const edits = pointAgent(source, target, sites);
  const fixes = edits === null || edits.length === 0 ? [] : [{ title: l10n.t('Use the model of the run'), edits }];
  return fixed.map(({ fixed: node, node: place, client }) => finding('fixed-endpoint', 'warning', node ?? place,
    l10n.t('This call of {0} goes to a fixed server, key or model instead of the model of the run, so it can be neither recorded nor trained.', client), fixes));
};
