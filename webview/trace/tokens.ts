import { plural, t } from '../../trainer/protocol/l10n.ts';
import type { TokensView } from '../../trainer/protocol/trace-views.ts';
import { h } from '../shared/dom.ts';
import { tokenTone, visibleText } from './token-tones.ts';
import type { Colouring } from './token-tones.ts';

const shownTokens = 4000;
const titles: Record<Colouring, string> = { logprob: t('Log-probability'), advantage: t('Advantage') };
const legends: Record<Colouring, string> = {
  logprob: t('Stronger colour: the model found the token less likely.'),
  advantage: t('Green, solid line: reinforced by training. Red, dotted line: discouraged.'),
};

/** The tokens of a call, coloured by how likely they were or by what training does to them. */
export function tokensView(tokens: TokensView, colouring: Colouring, choose: (colouring: Colouring) => void): HTMLElement[] {
  const { response, prompt } = tokens;
  const shown = response.slice(0, shownTokens);
  const largest = Math.max(1e-9, ...shown.map((token) => Math.abs(token.advantage ?? 0)));
  const choices = (['logprob', 'advantage'] as const).map((each) => {
    const input = h('input', { type: 'radio', name: 'colouring', value: each, checked: each === colouring, change: () => { choose(each); } });
    return h('label', { class: 'choice' }, input, titles[each]);
  });
  const promptFold = h('details', {}, h('summary', {}, plural(prompt.length, 'Prompt, {0} token', 'Prompt, {0} tokens')));
  promptFold.addEventListener('toggle', () => { if (promptFold.childElementCount === 1) promptFold.append(h('pre', { class: 'tokens prompt' }, ...prompt.slice(-shownTokens).map((text, i) => h('span', { class: i % 2 === 0 ? 'token' : 'token odd' }, visibleText(text))))); });
  return [
    h('div', { class: 'choices', role: 'radiogroup', 'aria-label': t('Colour tokens by') }, ...choices),
    h('p', { class: 'quiet legend' }, colouring === 'advantage' && tokens.note !== null ? tokens.note : legends[colouring]),
    h('pre', { class: 'tokens', 'data-colouring': colouring }, ...shown.map((token) => {
      const { tone, strength, words } = tokenTone(token, colouring, largest);
      const element = h('span', { class: 'token', 'data-tone': tone, title: words }, visibleText(token.text));
      element.style.setProperty('--strength', `${Math.round(strength * 100)}%`);
      return element;
    })),
    response.length > shownTokens ? h('p', { class: 'quiet' }, t('The first {0} of {1} tokens.', shownTokens, response.length)) : h('span', { hidden: true }),
    tableFold(shown),
    promptFold,
  ];
}

/** The same for those who do not see colours. */
function tableFold(tokens: TokensView['response']): HTMLElement {
  const fold = h('details', {}, h('summary', {}, t('As a table')));
  const cell = (value: number | null): string => (value === null ? '–' : value.toFixed(3));
  fold.addEventListener('toggle', () => {
    if (fold.childElementCount > 1) return;
    fold.append(h('table', {}, h('thead', {}, h('tr', {}, ...[t('Token'), t('Id'), t('Log-probability'), t('Advantage')].map((title) => h('th', { scope: 'col' }, title)))),
      h('tbody', {}, ...tokens.slice(0, 500).map((token) => h('tr', {}, h('td', {}, visibleText(token.text)), h('td', {}, String(token.id)), h('td', {}, cell(token.logprob)), h('td', {}, cell(token.advantage)))))));
  });
  return fold;
}
