import type { Rule } from '../finding.ts';
import { finding } from '../finding.ts';

/** A service that runs its model itself: prompts can be tuned from outside, weights cannot. */
export const unreachableModel: Rule = ({ l10n, sites }) => {
  const first = new Map<string, (typeof sites)[number]>();
  for (const site of sites) if (site.service !== null && !first.has(site.service)) first.set(site.service, site);
  return [...first].map(([service, { node }]) => finding('unreachable-model', 'information', { from: node.from, to: node.firstChild?.to ?? node.to },
    l10n.t('{0} asks its own model, which the trainer cannot put itself in front of. Prompts of this agent can be tuned; training the model by reinforcement learning needs an OpenAI-compatible endpoint.', service)));
};
