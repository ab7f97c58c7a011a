import type { Capability, EndpointCapabilities } from '../../trainer/protocol/endpoints.ts';

export interface CapabilityRow { icon: 'pass' | 'circle-slash' | 'question'; name: string; answer: string; detail: string }

const icons = { yes: 'pass', no: 'circle-slash', unknown: 'question' } as const;
const answers = { yes: 'Yes', no: 'No', unknown: 'Not known' } as const;

/** What an endpoint can do, a row for each question. */
export function capabilityRows({ models, model, chat, token_ids, logprobs, tools, streaming }: EndpointCapabilities): CapabilityRow[] {
  const row = (name: string, { state, detail }: Capability): CapabilityRow => ({ icon: icons[state], name, answer: answers[state], detail });
  const listed = models.length === 0 ? 'It lists none.' : `It lists ${models.slice(0, 5).join(', ')}${models.length > 5 ? ` and ${models.length - 5} more` : ''}.`;
  return [
    row('Chat completions', chat),
    { icon: models.length === 0 ? 'question' : 'pass', name: 'Models', answer: model, detail: listed },
    row('Token ids', token_ids),
    row('Log-probabilities', logprobs),
    row('Tools', tools),
    row('Streaming', streaming),
  ];
}

/** What that means, in a sentence or two. */
export function capabilityMeaning({ chat, token_ids, tools }: EndpointCapabilities): string {
  if (chat.state !== 'yes') return 'It does not answer, so nothing can be run with it.';
  const training = token_ids.state === 'yes'
    ? 'Prompt tuning: yes. Reinforcement learning: it gives the token ids that this needs.'
    : 'Prompt tuning: yes. Reinforcement learning: no, since it gives no token ids; train a local model for that.';
  return tools.state === 'no' ? `${training} Agents that need tools will not work.` : training;
}
