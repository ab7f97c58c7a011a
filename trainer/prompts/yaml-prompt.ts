import { isMap, isScalar, isSeq, parseAllDocuments } from 'yaml';
import type { ParsedNode, Scalar } from 'yaml';
import type { Prompt } from '../protocol/prompts.ts';
import { readFilling, writeFilling } from './engines.ts';
import { cutAtHoles, holesOf, textOfPieces } from './pieces.ts';
import { fillingOf } from './read-prompt.ts';
import type { TextEdit } from './text-edit.ts';

/** A string of a YAML file. */
export interface YamlText { path: string[]; text: string; from: number; to: number; style: Scalar.Type | undefined; isInFlow: boolean }

/** The strings among a file's values; none when it is no YAML. */
export function yamlTexts(fileText: string): YamlText[] {
  const documents = parseAllDocuments(fileText);
  if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0)) return [];
  return documents.flatMap(({ contents }) => (contents === null ? [] : textsIn(contents, [], false)));
}

function textsIn(node: ParsedNode | null, path: string[], isInFlow: boolean): YamlText[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => textsIn(value, [...path, isScalar(key) ? String(key.value) : '?'], isInFlow || node.flow === true));
  if (isSeq(node)) return node.items.flatMap((item, index) => textsIn(item, [...path, String(index)], isInFlow || node.flow === true));
  if (!isScalar(node) || typeof node.value !== 'string') return [];
  return [{ path, text: node.value.replaceAll('\r\n', '\n'), from: node.range[0], to: node.range[1], style: node.type, isInFlow }];
}

/** The edit that gives a string of the file another text; null when it is not there any more. */
export function applyYaml(fileText: string, prompt: Prompt, newText: string): TextEdit | null {
  const path = prompt.prompt_id.slice(prompt.prompt_id.indexOf('#') + 1);
  const texts = yamlTexts(fileText);
  const at = texts.findIndex((each) => each.path.join('.') === path);
  const found = texts[at];
  const pieces = found === undefined ? null : readFilling([found.text], fillingOf(prompt));
  if (found === undefined || pieces === null || textOfPieces(pieces) !== prompt.text) return null;
  const value = textOfPieces(writeFilling(cutAtHoles(newText, holesOf(pieces)), prompt.engine));
  const wanted = JSON.stringify(texts.map((each, index) => (index === at ? value : each.text)));
  for (const insert of waysToWrite(fileText, found, value)) {
    const after = fileText.slice(0, found.from) + insert + fileText.slice(found.to);
    if (JSON.stringify(yamlTexts(after).map(({ text }) => text)) === wanted) return { from: found.from, to: found.to, insert };
  }
  return null;
}

/** From the one that looks most like the old to one that holds any text. */
function waysToWrite(fileText: string, { style, isInFlow, from, to }: YamlText, value: string): string[] {
  const newline = fileText.includes('\r\n') ? '\r\n' : '\n';
  const isBlock = style === 'BLOCK_LITERAL' || style === 'BLOCK_FOLDED';
  const endsLine = !isInFlow && /^[ \t]*(\r?\n|$)/.test(fileText.slice(to));
  const lineEnd = isBlock && fileText.slice(from, to).endsWith('\n') ? newline : '';
  const block = (mark: string, lines: string): string => {
    const tail = /\n*$/.exec(value)?.[0].length ?? 0;
    const indent = indentOf(fileText, from, to, isBlock);
    const body = lines.replace(/\n+$/, '').split('\n').map((line) => (line === '' ? '' : indent + line)).join(newline) + newline.repeat(Math.max(0, tail - 1));
    return `${mark}${tail === 0 ? '-' : tail === 1 ? '' : '+'}${newline}${body}${lineEnd}`;
  };
  const blocks = [...style === 'BLOCK_FOLDED' ? [block('>', value.replace(/\n(?!$)/g, '\n\n'))] : [], block('|', value)];
  const quoted = quote(value) + lineEnd;
  const single = `'${value.replaceAll("'", "''")}'${lineEnd}`;
  if (isBlock) return [...blocks, quoted];
  const inLine = style === 'PLAIN' && !value.includes('\n') ? [value, quoted] : style === 'QUOTE_SINGLE' && !value.includes('\n') ? [single, quoted] : [quoted];
  return value.includes('\n') && endsLine ? [block('|', value), quoted] : inLine;
}

/** JSON's strings are YAML's too, with what YAML would take for a line break or refuse escaped as well. */
const quote = (value: string): string => JSON.stringify(value).replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function indentOf(fileText: string, from: number, to: number, isBlock: boolean): string {
  const own = isBlock ? /\n([ ]+)\S/.exec(fileText.slice(from, to))?.[1] : undefined;
  const line = fileText.slice(fileText.lastIndexOf('\n', from - 1) + 1, from);
  return own ?? `${/^[ -]*/.exec(line)?.[0].replaceAll('-', ' ') ?? ''}  `;
}
