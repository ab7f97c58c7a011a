import type { Rejection } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';

/**
 * Makes the check that no new text copies tasks or their answers out of the data. A text leaks when it has, and no prompt of today has,
 * 1. an input of at least 4 words and 24 characters, word for word;
 * 2. an answer of at least 2 words and 12 characters, or a number of at least 5 digits;
 * 3. a shorter answer, and close to it (in two neighbouring lines) three quarters of the words of the input it answers, at least 4 of them.
 * Letter case, punctuation and spacing do not count. An answer is what a field is called so (`answer`, `expected`, `label`, …);
 * everything else in a task is input.
 * What tasks share is the vocabulary of the instructions, not a secret: a value that other tasks have as well, or of a field with
 * few different values for its tasks ("yes", "4", "Room A"), may be said. Rule 3 then needs the task beside it, and holds for it too.
 * @param inputs the tasks of all parts: an answer of the held-out part is as much of a leak
 */
export function leakCheck(prompts: readonly Prompt[], inputs: readonly unknown[]): (texts: Readonly<Record<string, string>>) => Rejection | null {
  const values = inputs.flatMap((input, task) => leavesOf(input, '').map((leaf) => ({ ...leaf, task, words: wordsOf(leaf.text) })));
  const today = prompts.map(({ text }) => wordsOf(text)).join(' | ');
  const shared = sharedValues(values);
  const secrets = new Map(values.filter((value) => isLong(value) && !shared.has(value.words) && !has(today, value.words)).map((value) => [value.words, value]));
  const pairs = pairsOf(values, today);
  return (texts) => {
    for (const [prompt_id, text] of Object.entries(texts)) {
      const words = wordsOf(text);
      const secret = [...secrets.values()].find((value) => has(words, value.words)) ?? pairIn(pairs, text);
      if (secret !== undefined) return { rule: 'leak', prompt_id, message: `The text copies ${secret.isAnswer ? 'an answer' : 'an input'} out of the data: “${shortened(secret.text)}”. Say what to do in general, without tasks of the data as examples.` };
    }
    return null;
  };
}

interface Leaf { field: string; text: string; isAnswer: boolean }
interface Value extends Leaf { task: number; words: string }

const answerField = /(^|_|\.|\b)(answers?|expected\w*|target|labels?|gold\w*|truth|ground_?truth|solution|reference|outputs?|correct\w*|results?|completion|response)$/i;

function leavesOf(value: unknown, field: string): Leaf[] {
  if (typeof value === 'string' || typeof value === 'number') return [{ field, text: String(value), isAnswer: answerField.test(field.replace(/([a-z])([A-Z])/g, '$1_$2')) }];
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => (key === 'id' ? [] : leavesOf(each, answerField.test(field) ? field : field === '' ? key : `${field}.${key}`)));
}

const wordsIn = (text: string): string[] => text.normalize('NFKC').toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
const wordsOf = (text: string): string => wordsIn(text).join(' ');

/** Whole words; scripts without spaces have none to find the ends of. */
function has(text: string, words: string): boolean {
  if (words === '') return false;
  return unspaced.test(words) ? text.includes(words) : ` ${text} `.includes(` ${words} `);
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function isLong({ words, isAnswer }: Value): boolean {
  const count = words.split(' ').length;
  if (unspaced.test(words)) return words.length >= (isAnswer ? 6 : 12);
  if (isAnswer && /^\d[\d ]*$/.test(words)) return words.replace(/\D/g, '').length >= 5;
  return isAnswer ? count >= 2 && words.length >= 12 : count >= 4 && words.length >= 24;
}

/** What more than one task has: the value itself, anywhere in another task, or its field with a few values for many tasks. */
function sharedValues(values: readonly Value[]): Set<string> {
  const shared = new Set<string>();
  const fields = new Map<string, Value[]>();
  for (const value of values) fields.set(value.field, [...fields.get(value.field) ?? [], value]);
  for (const inField of fields.values()) {
    const different = new Set(inField.map(({ words }) => words));
    if (inField.length >= 4 && different.size * 2 <= inField.length) for (const words of different) shared.add(words);
  }
  const texts = new Map<number, string>();
  const tasksWith = new Map<string, Set<number>>();
  for (const { task, words } of values) {
    texts.set(task, `${texts.get(task) ?? ''} | ${words}`);
    for (const word of words.split(' ')) tasksWith.set(word, (tasksWith.get(word) ?? new Set()).add(task));
  }
  for (const { words, task } of values.filter(isLong)) {
    const rarest = words.split(' ').map((word) => tasksWith.get(word) ?? new Set<number>()).reduce((a, b) => (b.size < a.size ? b : a));
    if ([...rarest].some((other) => other !== task && has(texts.get(other) ?? '', words))) shared.add(words);
  }
  return shared;
}

interface Pair { answer: Value; words: Set<string> }

function pairsOf(values: readonly Value[], today: string): Pair[] {
  const inputs = new Map<number, string[]>();
  for (const { task, words, isAnswer } of values) if (!isAnswer && words.length > (inputs.get(task)?.join(' ').length ?? 0)) inputs.set(task, words.split(' '));
  return values.filter(({ isAnswer, words }) => isAnswer && words !== '').flatMap((answer) => {
    const words = new Set(inputs.get(answer.task));
    const isKnown = [...words].filter((word) => has(today, word)).length >= words.size * closeness;
    return words.size < 4 || isKnown ? [] : [{ answer, words }];
  });
}

const closeness = 0.75;

function pairIn(pairs: readonly Pair[], text: string): Value | undefined {
  const lines = text.split('\n').map(wordsIn).filter((line) => line.length > 0);
  for (let at = 0; at < lines.length; at++) {
    const near = [...lines[at] ?? [], ...lines[at + 1] ?? []];
    const set = new Set(near);
    const joined = near.join(' ');
    const pair = pairs.find(({ answer, words }) => has(joined, answer.words) && [...words].filter((word) => set.has(word)).length >= words.size * closeness);
    if (pair !== undefined) return pair.answer;
  }
  return undefined;
}

const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
