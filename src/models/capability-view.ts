import { t } from '../../trainer/protocol/l10n.ts';
import type { Capability, EndpointCapabilities } from '../../trainer/protocol/endpoints.ts';

export interface CapabilityRow { icon: 'pass' | 'circle-slash' | 'question'; name: string; answer: string; detail: string }

const icons = { yes: 'pass', no: 'circle-slash', unknown: 'question' } as const;
const answerOf = (state: Capability['state']): string => (state === 'yes' ? t('Yes') : state === 'no' ? t('No') : t('Not known'));

/** What an endpoint can do, a row for each question. */
export function capabilityRows({ models, model, chat, token_ids, logprobs, tools, streaming }: EndpointCapabilities): CapabilityRow[] {
  const row = (name: string, { state, detail }: Capability): CapabilityRow => ({ icon: icons[state], name, answer: answerOf(state), detail });
  const listed = models.length === 0 ? t('It lists none.') : models.length > 5 ? t('It lists {0} and {1} more.', models.slice(0, 5).join(', '), models.length - 5) : t('It lists {0}.', models.join(', '));
  return [
    row(t('Chat completions'), chat),
    { icon: models.length === 0 ? 'question' : 'pass', name: t('Models'), answer: model, detail: listed },
    row(t('Token ids'), token_ids),
    row(t('Log-probabilities'), logprobs),
    row(t('Tools'), tools),
    row(t('Streaming'), streaming),
    ...uses({ chat, token_ids }).map(([name, use]) => row(name, use)),
  ];
}

/** What that is good for, in a sentence. */
export function capabilityMeaning(capabilities: EndpointCapabilities): string {
  if (capabilities.chat.state !== 'yes') return t('It does not answer, so nothing can be run with it.');
  return uses(capabilities).map(([name, { state }]) => `${name}: ${answerOf(state)}.`).join(' ');
}

function uses({ chat, token_ids }: Pick<EndpointCapabilities, 'chat' | 'token_ids'>): [name: string, use: Capability][] {
  const answers = chat.state === 'yes';
  return [
    [t('Prompt tuning'), answers ? { state: 'yes', detail: t('It needs answers and rewards, nothing more.') } : { state: 'no', detail: t('It needs a model that answers.') }],
    [t('Reinforcement learning'), token_ids.state === 'yes' ? { state: 'yes', detail: t('It gives the token ids that this needs.') } : { state: 'no', detail: t('It needs token ids. Train a local model instead.') }],
  ];
}
