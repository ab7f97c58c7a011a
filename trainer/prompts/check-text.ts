import type { Rejection } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { templateVariables } from './engines.ts';

/**
 * Why a new text cannot take the place of a prompt's; null when it can.
 * What is no variable is text, braces included: it is escaped when it is written back. Only what looks like a placeholder of this
 * prompt (`{nmae}` in an f-string, `{{ nmae }}` in a Jinja template) and stands for nothing is refused, for it is a slip: nobody
 * would fill it in. One that the prompt has today already may stay.
 * @param maxChars longest text; absent = no limit
 */
export function checkText(prompt: Prompt, text: string, maxChars?: number): Rejection | null {
  const reject = (rule: Rejection['rule'], message: string): Rejection => ({ rule, prompt_id: prompt.prompt_id, message });
  if (text.trim() === '') return reject('no-answer', 'The text is empty.');
  const stray = noText.exec(text)?.[0];
  if (stray !== undefined && !prompt.text.includes(stray)) return reject('syntax', `The text has a character that is no text: U+${stray.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}.`);
  if (text === prompt.text) return reject('unchanged', 'The text is the one there is already.');
  if (maxChars !== undefined && text.length > maxChars) return reject('too-long', `The text has ${text.length} characters; the limit is ${maxChars}.`);
  const isTemplate = prompt.engine === 'jinja' || prompt.engine === 'mustache';
  const read = isTemplate ? readTemplate(prompt, text) : readPlaceholders(prompt, text);
  if (read === null) return reject('syntax', `The text is no ${prompt.engine === 'jinja' ? 'Jinja' : 'Mustache'} template: a tag is not closed, or not one that the template language has.`);
  if (read.missing.length > 0) return reject('variable-missing', `The text has lost ${listed(read.missing)}. Every variable has to stay, written exactly like that.`);
  if (read.unknown.length > 0) return reject('variable-unknown', `Nothing fills in ${listed(read.unknown)}. ${prompt.variables.length > 0 ? `The variables are ${listed(prompt.variables.map(({ placeholder }) => placeholder))}.` : 'There are no variables here.'}`);
  return null;
}

/** Control characters, and halves of a character: files and servers refuse them or make something else of them. */
const noText = /[\0-\x08\v\f\x0e-\x1f\x7f]|\p{Surrogate}/u;

interface Variables { missing: string[]; unknown: string[] }

function readPlaceholders(prompt: Prompt, text: string): Variables {
  const known = prompt.variables.map(({ placeholder }) => placeholder);
  const missing = known.filter((placeholder) => !text.includes(placeholder));
  const rest = known.reduce((left, placeholder) => left.replaceAll(placeholder, ' '), text);
  const alike = notationOf(prompt);
  return { missing, unknown: alike === null ? [] : [...new Set(rest.match(alike) ?? [])].filter((found) => !prompt.text.includes(found)) };
}

/** What a placeholder with one name looks like here; null where every brace is text. */
function notationOf({ engine, syntax, variables }: Prompt): RegExp | null {
  if (engine === 'none') return null;
  if (engine === 'literal') return syntax.startsWith('script') ? /\$\{\s*[A-Za-z_$][\w$.]*\s*\}/g : /\{[A-Za-z_]\w*\}/g;
  if (engine === 'format') return /\{[A-Za-z_]\w*\}/g;
  // The marks around the names that are replaced.
  const [start, end] = /^([^\p{L}\d]+)[^]*?([^\p{L}\d]*)$/u.exec(variables.at(-1)?.placeholder ?? '')?.slice(1) ?? [];
  return start === undefined || end === undefined || end === '' ? null : new RegExp(`${escaped(start)}[A-Za-z_]\\w*${escaped(end)}`, 'g');
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function readTemplate(prompt: Prompt, text: string): Variables | null {
  // Values that the language itself fills in are no part of the template.
  const inTemplate = (placeholder: string): boolean => placeholder.startsWith('{{') || placeholder.startsWith('{%');
  const [outside, inside] = [prompt.variables.filter(({ placeholder }) => !inTemplate(placeholder)), prompt.variables.filter(({ placeholder }) => inTemplate(placeholder))];
  const bare = (whole: string): string => outside.reduce((left, { placeholder }) => left.replaceAll(placeholder, ' '), whole);
  const before = templateVariables(bare(prompt.text), prompt.engine);
  const after = templateVariables(bare(text), prompt.engine);
  // A template that our parser cannot read today is not judged by it.
  if (before === null) return { missing: inside.filter(({ placeholder }) => !text.includes(placeholder)).map(({ placeholder }) => placeholder), unknown: [] };
  if (after === null) return null;
  const names = new Set(after.map(({ name }) => name));
  const known = new Set(before.map(({ name }) => name));
  return {
    missing: [...before.filter(({ name }) => !names.has(name)), ...outside.filter(({ placeholder }) => !text.includes(placeholder))].map(({ placeholder }) => placeholder),
    unknown: after.filter(({ name }) => !known.has(name)).map(({ placeholder }) => placeholder),
  };
}

const listed = (placeholders: string[]): string => placeholders.map((placeholder) => `\`${placeholder}\``).join(', ');
