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
    ...uses({ chat, token_ids }).map(([name, use]) => row(name, use)),
  ];
}

/** What that is good for, in a sentence. */
export function capabilityMeaning(capabilities: EndpointCapabilities): string {
  if (capabilities.chat.state !== 'yes') return 'It does not answer, so nothing can be run with it.';
  return uses(capabilities).map(([name, { state }]) => `${name}: ${state}.`).join(' ');
}

function uses({ chat, token_ids }: Pick<EndpointCapabilities, 'chat' | 'token_ids'>): [name: string, use: Capability][] {
  const answers = chat.state === 'yes';
  return [
    ['Prompt tuning', answers ? { state: 'yes', detail: 'It needs answers and rewards, nothing more.' } : { state: 'no', detail: 'It needs a model that answers.' }],
    ['Reinforcement learning', token_ids.state === 'yes' ? { state: 'yes', detail: 'It gives the token ids that this needs.' } : { state: 'no', detail: 'It needs token ids. Train a local model instead.' }],
  ];
}
