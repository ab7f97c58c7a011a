import { diffWordsWithSpace } from 'diff';
import type { DiffPart, TextPart } from '../../../trainer/protocol/prompt-views.ts';
import type { Prompt, PromptVariable } from '../../../trainer/protocol/prompts.ts';

/** Texts that differ in more than this are shown as one replaced by the other. */
const mostEdits = 2000;

/** A prompt cut where its variables stand. Of placeholders that begin at the same place the longest counts. */
export function textParts(text: string, variables: readonly PromptVariable[]): TextPart[] {
  const known = [...variables].filter(({ placeholder }) => placeholder !== '').sort((a, b) => b.placeholder.length - a.placeholder.length);
  const parts: TextPart[] = [];
  let plain = '';
  const push = (): void => {
    if (plain !== '') parts.push({ text: plain, variable: null });
    plain = '';
  };
  for (let at = 0; at < text.length;) {
    const variable = known.find(({ placeholder }) => text.startsWith(placeholder, at));
    if (variable === undefined) plain += text[at++];
    else {
      push();
      parts.push({ text: variable.placeholder, variable: variable.name });
      at += variable.placeholder.length;
    }
  }
  push();
  return parts;
}

/** Word by word what turns one text into the other; null when they are the same. */
export function wordDiff(before: string, after: string): DiffPart[] | null {
  if (before === after) return null;
  const changes = diffWordsWithSpace(before, after, { maxEditLength: mostEdits }) ?? [{ value: before, added: false, removed: true }, { value: after, added: true, removed: false }];
  const parts: DiffPart[] = [];
  let removed = '';
  let added = '';
  const push = (): void => {
    if (removed !== '') parts.push({ kind: 'removed', text: removed });
    if (added !== '') parts.push({ kind: 'added', text: added });
    removed = added = '';
  };
  for (const [index, change] of changes.entries()) {
    // A space between two changed words changes with them: else a new sentence would be in shreds.
    const between = index > 0 && index < changes.length - 1 && change.value.trim() === '' && !change.value.includes('\n');
    if (change.removed || (between && !change.added)) removed += change.value;
    if (change.added || (between && !change.removed)) added += change.value;
    if (change.added || change.removed || between) continue;
    push();
    parts.push({ kind: 'same', text: change.value });
  }
  push();
  return parts;
}

/** `agent.py:12`; of a file that is the prompt its name alone. */
export function placeOf({ file, line, syntax }: Pick<Prompt, 'file' | 'line' | 'syntax'>): string {
  const name = file.split('/').at(-1) ?? file;
  return syntax === 'file' ? name : `${name}:${line}`;
}
