import type { Source } from '../../../trainer/source/syntax.ts';
import { descendants, textOf } from '../../../trainer/source/syntax.ts';
import type { AgentView, Finding, Fix, Rule } from '../finding.ts';
import { finding } from '../finding.ts';
import { emitsIn, notANumber, returnsOf } from '../returns.ts';

/** An agent that never yields a reward: its rollouts end unscored, and nothing can be learned from them. */
export const noReward: Rule = (view) => {
  const { l10n, source, agent } = view;
  const returned = returnsOf(view);
  const wrong = returned.flatMap(({ value }) => wrongValue(view, value));
  if (emitsSomewhere(view)) return wrong.filter(({ fixes }) => fixes.length > 0);
  if (returned.length > 0) return wrong;
  if (onlyRaises(view)) return [];
  const emit = source.language === 'python' ? 'emit_reward' : 'emitReward';
  return [finding('no-reward', 'warning', agent, l10n.t('This agent never yields a reward. Return a number, or report one with {0}.', emit))];
};

function wrongValue({ l10n, source }: AgentView, value: ReturnType<typeof returnsOf>[number]['value']): Finding[] {
  switch (notANumber(source, value)) {
    case 'boolean': {
      const text = textOf(source, value);
      const fix: Fix = { title: l10n.t('Return it as a number'), edits: [{ from: value.from, to: value.to, insert: source.language === 'python' ? `float(${text})` : `Number(${text})` }] };
      return [finding('no-reward', 'warning', value, l10n.t('A reward is a number; true or false is not read as one.'), [fix])];
    }
    case 'text': return [finding('no-reward', 'warning', value, l10n.t('An agent returns its reward, a number; this is a text. Score the text and return the score.'))];
    case 'object': return [finding('no-reward', 'warning', value, l10n.t('An agent returns its reward, one number; this is a collection. Several rewards can be emitted by name.'))];
    case null: return [];
  }
}

const known = new WeakMap<Source, boolean>();

/** Anywhere in the file: the agent may call what emits. */
function emitsSomewhere({ source }: AgentView): boolean {
  const emits = known.get(source) ?? emitsIn(source, source.root).length > 0;
  known.set(source, emits);
  return emits;
}

function onlyRaises({ target }: AgentView): boolean {
  for (const node of descendants(target.body)) if (node.name === 'RaiseStatement' || node.name === 'ThrowStatement') return [...descendants(target.body)].every(({ name }) => name !== 'CallExpression' || node.from === target.body.from);
  return false;
}
