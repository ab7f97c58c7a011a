import { wordsOfPieces } from './pieces.ts';
import type { Piece } from './pieces.ts';

/**
 * How much of a text must be words for it to be a prompt, a thing that a person would rewrite. `told`: it is where prompts are, in
 * a message or an argument for instructions · `given`: under a name that says nothing; it may hold something that is told · `filled`: it is put into
 * another text.
 */
export type Standing = 'told' | 'given' | 'filled';

const prompts = /^(contents?|text|system|developer|preamble|persona|template|messages?|inputs?|parts|goal|backstory|expected_?output|task|query|question|user|prefix|suffix|state_?modifier|messages_?modifier)$|prompt|instruction|description|system_?message/i;
const settings = /^(model|model_?name|role|name|names|id|ids|type|kind|api_?key|base_?url|organization|url|uri|path|file|headers|temperature|max_?\w*tokens|stop|stop_sequences|metadata|tool_?choice|response_?(format|model|schema)|format|schema|parameters|properties|input_?schema|args_?schema|output_?\w*type|output|encoding|method|timeout|seed|stream|extra_\w+|tool_call_?id|tool_?calls|arguments|function_?call|env|code_execution_config|human_input_mode|is_termination_msg|llm_config|config_list|tags|version|title|image_?url|media_?type|cache_control|verbose|process|label|key|value|default|enum|required|workflow_?\w*|execute|func|fn|handler|callback|coroutine|error\w*|log\w*)$/i;

/** Where a text stands that is given under this name; null: no prompt is given under it. */
export function standingOf(label: string, above: Standing): Standing | null {
  if (settings.test(label)) return null;
  return above === 'filled' ? 'filled' : prompts.test(label) ? 'told' : 'given';
}

const scripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/gu;

/** Whether a text at this place is a prompt. Keys, role names, model ids, addresses, separators and markup are none. */
export function isPromptText(pieces: readonly Piece[], standing: Standing): boolean {
  const text = wordsOfPieces(pieces);
  const whole = pieces.map((piece) => (typeof piece === 'string' ? piece : 'x')).join('').trim();
  if (/^\W*(error|unknown|invalid|failed|traceback)\b/i.test(whole)) return false; // what a tool or check says
  if (!/\s/.test(whole) && /[/\\]|^[\w.-]+$/.test(whole)) return false; // an address, path or identifier
  const words = (text.match(/\p{L}[\p{L}'’-]+/gu) ?? []).length + Math.floor((text.match(scripts) ?? []).length / 2);
  const isFilled = pieces.some((piece) => typeof piece !== 'string');
  if (/^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA)\s[\s\S]*\b(FROM|INTO|SET|TABLE|AS|VALUES|VIEW)\b/.test(text)) return false;
  switch (standing) {
    case 'told': return words >= 2 || (isFilled && /\p{L}{2}|\p{L}\s*:/u.test(text));
    case 'given': return false;
    case 'filled': return words >= 4 || (words === 3 && /[.!?:。]$/.test(text.trim()));
  }
}
