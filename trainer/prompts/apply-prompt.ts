import type { SyntaxNode } from '@lezer/common';
import { TrainerError } from '../protocol/errors.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { nodesOf, parseSource } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';
import { writeFilling } from './engines.ts';
import { isSum } from './literal.ts';
import { cutAtHoles, holesOf } from './pieces.ts';
import { fillingOf, readPrompt } from './read-prompt.ts';
import type { ReadPrompt } from './read-prompt.ts';
import type { TextEdit } from './text-edit.ts';
import { readTextFile, writeTextFile } from './text-file.ts';
import { undoTrims } from './trims.ts';
import { writeLiteral } from './write-literal.ts';
import { applyYaml } from './yaml-prompt.ts';

/**
 * The edit that gives a prompt another text; nothing outside of its literal changes. Quotes, layout and line breaks stay as they
 * are as far as the text allows; a call around the literal that would take white space away from the new text (`dedent`, `.strip()`) goes.
 * @param fileText the file as it is now: the literal may have moved since the prompt was found, but not changed
 * @param newText in the notation of Prompt.text
 * @throws TrainerError 'conflict' when the literal has changed since
 */
export function applyPrompt(fileText: string, prompt: Prompt, newText: string): TextEdit[] {
  if (prompt.syntax === 'file') {
    if (readTextFile(fileText) !== prompt.text) throw changed(prompt);
    return [{ from: 0, to: fileText.length, insert: writeTextFile(fileText, newText) }];
  }
  if (prompt.syntax === 'yaml') {
    const edit = applyYaml(fileText, prompt, newText);
    if (edit === null) throw changed(prompt);
    return [edit];
  }
  const source = parseSource(prompt.file, fileText);
  const found = source === null ? null : findLiteral(source, prompt);
  if (source === null || found === null) throw changed(prompt);
  return [literalEdit(source, found, prompt, newText)];
}

const changed = (prompt: Prompt): TrainerError => new TrainerError('conflict', `The prompt ${prompt.name} in ${prompt.file} has changed since it was read, or its text stands there more than once and has moved. Find the prompts anew and apply to the present text.`);

/** The literal with the prompt's text. Of several with the same text only the one at the prompt's place: after the file has changed, which of them it is cannot be told. */
function findLiteral(source: Source, prompt: Prompt): ReadPrompt | null {
  const literals = nodesOf(source.root, ['String', 'FormatString', 'ContinuedString', 'TemplateString', 'BinaryExpression']).filter((node) => isWhole(source, node));
  const same = literals.flatMap((node) => {
    const read = readPrompt(source, node, fillingOf(prompt));
    return read?.text === prompt.text && read.syntax === prompt.syntax ? [{ from: node.from, read }] : [];
  });
  return (same.find(({ from }) => from === prompt.from) ?? (same.length === 1 ? same[0] : null))?.read ?? null;
}

/** Not a part of a larger literal. */
function isWhole(source: Source, node: SyntaxNode): boolean {
  let { parent } = node;
  while (parent?.name === 'ParenthesizedExpression') parent = parent.parent;
  return parent === null || (parent.name !== 'ContinuedString' && !isSum(source, parent));
}

function literalEdit(source: Source, { literal, pieces }: ReadPrompt, prompt: Prompt, newText: string): TextEdit {
  const wanted = writeFilling(cutAtHoles(newText, holesOf(pieces)), prompt.engine);
  const code = writeLiteral(source, literal, undoTrims(wanted, literal.trims, literal.pieces));
  const edit = { from: literal.node.from, to: literal.node.to, insert: code.replaceAll('\n', source.newline) };
  if (gives(source, edit, prompt, newText)) return edit;
  // What takes white space away cannot give every text, and goes.
  const { node } = literal.trims.at(-1) ?? literal;
  const sum = writeLiteral(source, literal, wanted).replaceAll('\n', source.newline);
  const plain = { from: node.from, to: node.to, insert: literal.parts.length > 1 ? `(${sum})` : sum };
  if (!gives(source, plain, prompt, newText)) throw new TrainerError('internal', `The new text of ${prompt.name} could not be written into ${prompt.file}. Please report it with the prompt and the text.`);
  return plain;
}

/** Whether the file has the new text after the edit. */
function gives(source: Source, edit: TextEdit, prompt: Prompt, newText: string): boolean {
  const after = parseSource(source.fileName, source.text.slice(0, edit.from) + edit.insert + source.text.slice(edit.to));
  if (after === null) return false;
  for (let node: SyntaxNode | null = after.root.resolveInner(edit.from, 1); node !== null && node.from === edit.from; node = node.parent) {
    const inner = node.name === 'ParenthesizedExpression' ? node.firstChild?.nextSibling ?? node : node;
    if (node.to === edit.from + edit.insert.length && readPrompt(after, inner, fillingOf(prompt))?.text === newText) return true;
  }
  return false;
}
