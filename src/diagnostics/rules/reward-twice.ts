import type { SyntaxNode } from '@lezer/common';
import { indentBefore, itemsOf, lineEnd, lineStart, textOf } from '../../../trainer/source/syntax.ts';
import type { Source } from '../../../trainer/source/syntax.ts';
import type { Edit } from '../../wrap/edits.ts';
import type { Rule } from '../finding.ts';
import { finding } from '../finding.ts';
import { emitsIn, returnsOf } from '../returns.ts';

/** A reward both returned and emitted: the returned one counts, so the other is at best noise and at worst a contradiction. */
export const rewardTwice: Rule = (view) => {
  const { l10n, source, target } = view;
  const returned = returnsOf(view);
  if (returned.length === 0) return [];
  return emitsIn(source, target.body).map((call) => {
    const value = itemsOf(source, call.getChild('ArgList'))[0]?.value;
    const isSame = value !== null && value !== undefined && returned.some((each) => textOf(source, each.value) === textOf(source, value));
    const statement = statementOf(call);
    const message = isSame
      ? l10n.t('This reward is emitted and returned: it is recorded twice. One of the two is enough.')
      : l10n.t('This agent returns a reward too, and the returned one counts. An emitted reward beside it is recorded, but does not decide.');
    const fixes = statement === null ? [] : [{ title: l10n.t('Remove the emitted reward'), edits: [removal(source, statement)] }];
    return finding('reward-twice', isSame ? 'warning' : 'information', call, message, fixes);
  });
};

/** The statement that is this call and nothing else. */
function statementOf(call: SyntaxNode): SyntaxNode | null {
  const parent = call.parent?.name === 'AwaitExpression' ? call.parent.parent : call.parent;
  return parent?.name === 'ExpressionStatement' ? parent : null;
}

/** Takes a statement with its line away; the only one of a Python block becomes `pass`. */
function removal(source: Source, statement: SyntaxNode): Edit {
  const siblings = [statement.prevSibling, statement.nextSibling].filter((node) => node !== null && ![':', '{', '}'].includes(node.name) && !node.name.endsWith('Comment'));
  if (source.language === 'python' && siblings.length === 0) return { from: statement.from, to: statement.to, insert: 'pass' };
  const { text } = source;
  const end = lineEnd(text, statement.to);
  const isAlone = indentBefore(text, statement.from) !== null && text.slice(statement.to, end).trim() === '';
  if (!isAlone) return { from: statement.from, to: text[statement.to] === ';' ? statement.to + 1 : statement.to, insert: '' };
  const next = text.indexOf('\n', end);
  return { from: lineStart(text, statement.from), to: next === -1 ? text.length : next + 1, insert: '' };
}
