import { plural, t } from '../../trainer/protocol/l10n.ts';
import type { PromptItem, PromptsView, TextPart } from '../../trainer/protocol/prompt-views.ts';
import { h, part } from '../shared/dom.ts';
import { button } from '../shared/run-header.ts';

interface Events { agent: (value: string) => void; find: () => void; open: (prompt_id: string) => void; choose: (prompt_id: string, chosen: boolean) => void; trust: () => void }
type Part = Pick<PromptsView, 'trusted' | 'agents' | 'agent' | 'prompts' | 'problem'> & { choosing: boolean };

/** Which agent, and its prompts as they are in the source now. */
export function agentView(events: Events): { element: HTMLElement; update: (view: Part) => void } {
  const choice = h('div', { class: 'agent-choice' });
  const prompts = h('div', { class: 'prompts' });
  const drawChoice = part(choice, ({ agents, agent, trusted }: Pick<Part, 'agents' | 'agent' | 'trusted'>) => [
    ...(trusted ? [] : [h('p', { class: 'callout warning' }, t('This workspace is not trusted: its prompts are shown, but nothing is run.'), button(t('Manage trust'), 'secondary', events.trust))]),
    ...agents.length === 0
      ? [h('p', { class: 'quiet' }, t('No agent was found in this workspace. Wrap a function with rollout, and its prompts appear here.')), button(t('Search again'), 'secondary', events.find)]
      : [h('label', { class: 'field' }, h('span', {}, t('Agent')), h('select', { 'aria-label': t('Agent'), change: (event) => { events.agent((event.target as HTMLSelectElement).value); } },
        ...agents.map(({ value, label, place }) => h('option', { value, selected: value === agent, title: place }, agents.some((other) => other.value !== value && other.label === label) ? `${label} (${place})` : label))))],
  ]);
  const drawPrompts = part(prompts, ({ prompts: items, problem, agent, choosing }: Pick<Part, 'prompts' | 'problem' | 'agent' | 'choosing'>) => {
    if (agent === null) return [];
    if (problem !== null) return [h('p', { class: 'callout error', role: 'alert' }, problem)];
    if (items === null) return [h('p', { class: 'quiet' }, t('Reading the prompts…'))];
    if (items.length === 0) return [h('p', { class: 'quiet' }, t('No text of this agent that reaches a model was found. Prompts are string literals, template files and prompt classes in the calls of a model.'))];
    return [h('h2', {}, items.length === 1 ? t('Prompt') : t('{0} prompts', items.length)), ...items.map((item) => promptView(item, choosing, items.length > 1, events))];
  });
  return {
    element: h('section', { 'aria-label': t('Agent and prompts') }, choice, prompts),
    update({ trusted, agents, agent, prompts: items, problem, choosing }) {
      drawChoice({ agents, agent, trusted });
      drawPrompts({ prompts: items, problem, agent, choosing });
    },
  };
}

function promptView({ prompt_id, name, place, parts, chosen }: PromptItem, choosing: boolean, several: boolean, events: Events): HTMLElement {
  const variables = new Set(parts.flatMap(({ variable }) => variable ?? []));
  return h('details', { class: 'prompt', open: choosing, 'data-prompt': prompt_id },
    h('summary', {},
      choosing && several ? h('input', { type: 'checkbox', checked: chosen, 'aria-label': t('Change {0}', name), title: t('Let the search change this prompt'), click: (event) => { event.stopPropagation(); }, change: (event) => { events.choose(prompt_id, (event.target as HTMLInputElement).checked); } }) : null,
      h('span', { class: 'prompt-name' }, name),
      h('button', { type: 'button', class: 'link', 'aria-label': t('Open {0} in {1}', name, place), click: (event) => { event.preventDefault(); events.open(prompt_id); } }, place),
      h('span', { class: 'quiet' }, variables.size === 0 ? t('no variables') : plural(variables.size, '{0} variable', '{0} variables'))),
    promptText(parts));
}

/** A prompt with its variables marked. */
export function promptText(parts: readonly TextPart[]): HTMLElement {
  return h('pre', { class: 'prompt-text', tabindex: 0, role: 'region', 'aria-label': t('Text of the prompt') },
    ...parts.map(({ text, variable }) => (variable === null ? text : h('span', { class: 'variable', title: t('Variable {0}: filled in by the agent', variable) }, text))));
}
