import { CST, Composer, isMap, isScalar, isSeq, Parser } from 'yaml';
import type { Document, ParsedNode, Scalar } from 'yaml';
import type { Prompt } from '../protocol/prompts.ts';
import { readFilling, writeFilling } from './engines.ts';
import type { TextEdit } from './apply-prompt.ts';
import { cutAtHoles, holesOf, textOfPieces } from './pieces.ts';
import { fillingOf } from './read-prompt.ts';

/** A string of a YAML file. */
export interface YamlText { path: string[]; text: string; from: number; to: number }

/** The strings among a file's values; none when it is no YAML. */
export function yamlTexts(fileText: string): YamlText[] {
  return scalarsOf(fileText).scalars.map(({ path, scalar, text }) => ({ path, text, from: scalar.range?.[0] ?? 0, to: scalar.range?.[1] ?? 0 }));
}

interface Found { path: string[]; scalar: Scalar; text: string }

function scalarsOf(fileText: string): { tokens: CST.Token[]; scalars: Found[] } {
  const tokens = [...new Parser().parse(fileText)];
  const documents = [...new Composer({ keepSourceTokens: true }).compose(tokens)] as Document.Parsed[];
  if (documents.some(({ errors }) => errors.length > 0)) return { tokens, scalars: [] };
  return { tokens, scalars: documents.flatMap(({ contents }) => (contents === null ? [] : scalarsIn(contents, []))) };
}

function scalarsIn(node: ParsedNode | null, path: string[]): Found[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => scalarsIn(value, [...path, isScalar(key) ? String(key.value) : '?']));
  if (isSeq(node)) return node.items.flatMap((item, index) => scalarsIn(item, [...path, String(index)]));
  return isScalar(node) && typeof node.value === 'string' ? [{ path, scalar: node, text: node.value.replaceAll('\r\n', '\n') }] : [];
}

/** null when the file has no such string any more. */
export function applyYaml(fileText: string, prompt: Prompt, newText: string): TextEdit[] | null {
  const plain = fileText.replaceAll('\r\n', '\n');
  const { tokens, scalars } = scalarsOf(plain);
  const filling = fillingOf(prompt);
  const path = prompt.prompt_id.slice(prompt.prompt_id.indexOf('#') + 1);
  for (const { path: at, scalar, text } of scalars) {
    const pieces = readFilling([text], filling);
    if (at.join('.') !== path || pieces === null || scalar.srcToken === undefined) continue;
    if (textOfPieces(pieces) !== prompt.text) return null;
    const value = textOfPieces(writeFilling(cutAtHoles(newText, holesOf(pieces)), prompt.engine));
    CST.setScalarValue(scalar.srcToken, value, { type: typeFor(scalar.type, value) });
    const after = tokens.map((token) => CST.stringify(token)).join('');
    return [editBetween(fileText, fileText === plain ? after : after.replaceAll('\n', '\r\n'))];
  }
  return null;
}

/** Lines are best read in a block; what a block cannot hold goes into quotes. */
function typeFor(type: Scalar.Type | undefined, value: string): Scalar.Type {
  if (/[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]/.test(value)) return 'QUOTE_DOUBLE';
  if (value.includes('\n')) return /^\s/.test(value) || /[ \t]$/m.test(value) ? 'QUOTE_DOUBLE' : 'BLOCK_LITERAL';
  return type ?? 'QUOTE_DOUBLE';
}

/** The one replacement that makes a text into another. */
function editBetween(before: string, after: string): TextEdit {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let end = 0;
  while (end < before.length - from && end < after.length - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
