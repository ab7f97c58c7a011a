import type { SyntaxNode } from '@lezer/common';
import { answerFields } from '../../../trainer/protocol/tasks.ts';
import { descendants, itemsOf, unquoted } from '../../../trainer/source/syntax.ts';
import type { AgentView, Rule } from '../finding.ts';
import { finding } from '../finding.ts';
import { Flow } from '../flow.ts';
import { taskReads } from '../task-reads.ts';

const answers = new Set<string>(answerFields);

/** The answer of the task flows into the prompt: the agent learns to copy it, and scores well until the day there is none. */
export const answerLeak: Rule = (view) => {
  const { l10n, source, target } = view;
  const reads = taskReads(view).filter(({ field }) => answers.has(field));
  if (reads.length === 0) return [];
  const places = new Map(reads.map((read) => [read.node.from, read]));
  const isRead = (node: SyntaxNode): boolean => places.get(node.from)?.node.to === node.to;
  const flow = new Flow(source, target.body, isRead, reads.flatMap(({ bound }) => bound ?? []));
  const found = new Map<number, ReturnType<typeof finding>>();
  const messages = messagesOf(view);
  for (const prompt of [...messages, ...view.sites.flatMap((site) => site.prompt)]) {
    const entry = flow.entry(prompt);
    // A message that leaks was told where it is put together; that it is also sent is no news.
    if (entry === undefined || (found.size > 0 && !messages.includes(prompt) && entry.name === 'VariableName' && !isRead(entry))) continue;
    const field = places.get(entry.from)?.field ?? reads[0]?.field ?? '';
    found.set(entry.from, finding('answer-leak', 'warning', entry, l10n.t('The task’s field “{0}” reaches the prompt: the model is shown what it should find, so its reward says nothing. Give the answer to the reward only.', field)));
  }
  return [...found.values()];
};

/** The contents of chat messages, wherever in the agent they are put together. */
function messagesOf({ source, target }: AgentView): SyntaxNode[] {
  const prompts: SyntaxNode[] = [];
  for (const node of descendants(target.body)) {
    if (node.name === 'ObjectExpression') {
      const entries = itemsOf(source, node);
      if (entries.some(({ name }) => name === 'role')) prompts.push(...entries.flatMap(({ name, value }) => (name === 'content' && value !== null ? [value] : [])));
    } else if (node.name === 'DictionaryExpression') {
      const keys = node.getChildren('String').filter((key) => key.nextSibling?.name === ':');
      const content = keys.find((key) => unquoted(source, key) === 'content')?.nextSibling?.nextSibling;
      if (content !== null && content !== undefined && keys.some((key) => unquoted(source, key) === 'role')) prompts.push(content);
    }
  }
  return prompts;
}
