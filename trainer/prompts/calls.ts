import type { SyntaxNode } from '@lezer/common';
import { argumentsOf, calleeOf, isText, optionsOf, textOf } from '../source/syntax.ts';
import type { Item } from '../source/syntax.ts';
import { readFilePath } from './file-paths.ts';
import { unfilled } from './engines.ts';
import type { Filling } from './engines.ts';
import { standingOf } from './labels.ts';
import type { Module } from './modules.ts';
import { below, filledUse } from './trace.ts';
import { traceAttribute, traceReturns } from './trace-names.ts';
import type { Tracer, Use } from './trace.ts';

/** Functions that give back what they are given, in another form. */
const passing = /^(dedent|cleandoc|stripIndent|str|String|dumps|stringify|list|dict|tuple|sorted|reversed|copy|deepcopy|assign|structuredClone|all|gather|run|cast|freeze|encode|encodeURIComponent|from|Request|RunnableLambda|RunnablePassthrough)$/;
/** Methods whose result is their object, or is made of it. */
const ofReceiver = /^(strip|lstrip|rstrip|trim|trimStart|trimEnd|lower|encode|decode|toString|copy|slice|concat|flat|filter|map|flatMap|reverse|pipe|bind|bind_tools|bindTools|with_structured_output|withStructuredOutput|with_config|withConfig|with_retry|withRetry|partial|assign|compile|build|invoke|ainvoke|format_messages|formatMessages|format_prompt|formatPrompt|to_string|to_messages|toChatMessages|model_dump|add_node|addNode|add_edge|addEdge|set_entry_point|addConditionalEdges|expandtabs|join|values|entries|crew|agent|task|then|catch|finally|removeprefix|removesuffix|splitlines)$/;
/** Things made to hold prompts, whose positional arguments are read too. */
const holders = /(Message|Prompt|Template|Agent|Task|Crew|Content|Part|Chain|Sequence|Graph|Executor|Lambda|GroupChat|Team|Assistant|Signature|Predict)\w*$/;

/** Functions whose result is meant as a prompt also where it is put into another text; that of others is the agent's data. */
const speaks = /prompt|message|instruction|system|preamble|intro|template|few_?shot|example|guideline|rule|persona/i;

/** Functions that do something for the agent: what they give back is an observation. */
const acts = /exec|tool|observ|action|search|lookup|retriev|fetch|command|shell/i;

/** Follows the result of a call back to what it is made of. */
export function traceCall(tracer: Tracer, module: Module, call: SyntaxNode, use: Use): void {
  const { source } = module;
  const written = calleeOf(call);
  const callee = written?.name === 'InstantiationExpression' ? written.firstChild : written;
  if (written === null || callee === null || tracer.uses.isModelCall(module, written)) return;
  const receiver = callee.name === 'MemberExpression' ? callee.firstChild : null;
  const property = callee.name === 'MemberExpression' ? callee.getChild('PropertyName') : callee;
  const name = property === null ? '' : textOf(source, property);
  const given = argumentsOf(source, call);
  const path = readFilePath(tracer.modules, module, call);
  if (path !== null) {
    tracer.sink.file(path, use, 'text');
    return;
  }
  const own = tracer.uses.calledBy(module, callee);
  if (own.length > 0 && !speaks.test(name) && (use.standing === 'filled' || acts.test(name))) return;
  for (const { module: at, definition } of own) {
    if (definition.kind === 'function') traceReturns(tracer, at, definition, use);
    else if (use.keys[0] !== undefined) traceAttribute(tracer, at, definition, use.keys[0], { ...use, keys: use.keys.slice(1) });
  }
  if (own.some(({ definition }) => definition.kind === 'function')) return;
  if (receiver !== null && traceMethod(tracer, module, receiver, name, given, use)) return;
  if (/^(from_messages|fromMessages|from_template|fromTemplate|PromptTemplate|from_string)$/.test(name) || /PromptTemplate$/.test(name)) {
    const filling: Filling = { ...unfilled, engine: name === 'from_string' ? 'jinja' : templateEngine(module, call) };
    for (const { name: label, value } of given) {
      if (label === null || /^(template|prompt|messages|prefix|suffix)$/.test(label)) tracer.trace(module, value, { standing: 'told', filling, keys: [] });
    }
    if (source.language === 'node') for (const { name: label, value } of optionsOf(source, call)) if (label === 'template') tracer.trace(module, value, { standing: 'told', filling, keys: [] });
    return;
  }
  if (name === 'Template') {
    if (!isStringTemplate(module, callee)) tracer.trace(module, given[0]?.value, { ...use, filling: { ...unfilled, engine: 'jinja' } });
    return;
  }
  if (passing.test(name)) {
    for (const { value, name: label } of given) if (label === null || standingOf(label, use.standing) !== null) tracer.trace(module, value, use);
    return;
  }
  traceGiven(tracer, module, call, name, use);
}

/** What a constructor or factory is given: by the names of arguments, and in order for what holds prompts. */
function traceGiven(tracer: Tracer, module: Module, call: SyntaxNode, name: string, use: Use): void {
  const { source } = module;
  const makes = /^[A-Z]/.test(name);
  const given = argumentsOf(source, call);
  const [key, ...rest] = use.keys;
  const isTool = /tool$/i.test(name);
  const isPersona = given.some((item) => item.name === 'goal' || item.name === 'backstory');
  // CrewAI replaces the names of its inputs in all it is told, and leaves other braces alone.
  if (isPersona || given.some((item) => item.name === 'expected_output' || crewConfig(module, item.value))) use = { ...use, filling: { ...unfilled, engine: 'replace', replaced: ['{*}'] } };
  for (const { name: label, value, spread } of given) {
    if (value === null) continue;
    if (label === null) {
      if (isTool) tracer.trace(module, value, { ...use, standing: 'told', keys: ['description'] });
      else if (spread || value.name === 'ObjectExpression' || value.name === 'DictionaryExpression') tracer.trace(module, value, makes ? use : { ...use, standing: use.standing === 'filled' ? 'filled' : 'given' });
      else if (makes && holders.test(name) && use.keys.length === 0) tracer.trace(module, value, use);
      continue;
    }
    if (key !== undefined && key !== '*' && key !== label) continue;
    if (isTool && label !== 'description') continue;
    const standing = isPersona && label === 'role' ? 'told' : standingOf(label, use.standing);
    if (standing !== null && (makes || standing === 'told')) tracer.trace(module, value, { ...use, keys: key === label || key === '*' ? rest : use.keys, standing });
  }
}

/** `self.agents_config[…]`: a part of a crew's YAML file. */
export const crewConfig = ({ source }: Module, value: SyntaxNode | null): boolean => value !== null && /\.(agents|tasks)_config\b/.test(textOf(source, value));

function traceMethod(tracer: Tracer, module: Module, receiver: SyntaxNode, name: string, given: Item[], use: Use): boolean {
  const { source } = module;
  const fill = (items: Item[]): void => { for (const { value } of items) tracer.trace(module, value, filledUse); };
  const first = given[0]?.value ?? null;
  switch (name) {
    case 'format': case 'format_map': {
      const positional = given.filter((item) => item.name === null && !item.spread).map(({ value }) => (value === null ? '' : textOf(source, value)));
      tracer.trace(module, receiver, { ...use, filling: use.filling.engine === 'none' ? { ...unfilled, engine: 'format', positional } : use.filling });
      fill(given);
      return true;
    }
    case 'substitute': case 'safe_substitute': return true; // string.Template: a notation that is not read
    case 'replace': case 'replaceAll': {
      const placeholder = placeholderOf(module, first);
      const { engine, replaced } = use.filling;
      const replaces = placeholder !== null && (engine === 'none' || engine === 'replace');
      tracer.trace(module, receiver, replaces ? { ...use, filling: { ...use.filling, engine: 'replace', replaced: [...replaced, placeholder] } } : use);
      fill(given.slice(1));
      return true;
    }
    case 'join':
      for (const list of source.language === 'python' ? [first] : [receiver]) tracer.trace(module, list, below(use));
      return true;
    case 'get': {
      const key = first?.name === 'String' ? textOf(source, first).slice(1, -1) : '*';
      tracer.trace(module, receiver, { ...use, keys: [key, ...use.keys] });
      if (given[1]?.value != null) tracer.trace(module, given[1].value, use);
      return true;
    }
    case 'render': case 'render_async': case 'renderString': {
      const engine = /mustache/i.test(textOf(source, receiver)) || /chevron/.test(textOf(source, receiver)) ? 'mustache' : 'jinja';
      const isLibrary = /^(nunjucks|Mustache|mustache|chevron|env|environment)$/.test(textOf(source, receiver)) && given.length > 1;
      tracer.trace(module, isLibrary ? first : receiver, { ...use, filling: { ...unfilled, engine } });
      fill(isLibrary ? given.slice(1) : given);
      return true;
    }
    case 'safe_load': case 'load': case 'full_load': case 'parse': {
      const path = first === null ? null : readFilePath(tracer.modules, module, first);
      if (path === null) return false;
      tracer.sink.file(path, use, 'yaml');
      return true;
    }
  }
  if (!ofReceiver.test(name)) return false;
  tracer.trace(module, receiver, use);
  for (const { value, spread } of given) {
    if (value === null || /^(String|Number|TemplateString)$/.test(value.name)) continue;
    // What a chain is asked with fills its templates in.
    const asks = /^(a?invoke|partial|format\w*|slice)$/.test(name);
    tracer.trace(module, value, asks ? filledUse : spread ? use : below(use));
  }
  return true;
}

/** What a call replaces, if it looks like a placeholder: a text as it is, a regular expression by the marks around its names. */
function placeholderOf({ source }: Module, replaced: SyntaxNode | null): string | null {
  if (replaced?.name === 'RegExp') {
    const marks = /\\?\$?(?:\\?\{)+/.exec(textOf(source, replaced))?.[0].replaceAll('\\', '') ?? '';
    return marks.includes('{') ? `${marks}*${'}'.repeat(marks.split('{').length - 1)}` : null;
  }
  const text = isText(replaced) ? textOf(source, replaced).replace(/^\w*(["'`])([\s\S]*)\1$/, '$2') : '';
  return /^[^\p{L}\s]*\p{L}[\p{L}\d_. -]*[^\p{L}\s]*$/u.test(text) && /^\W|\W$|^[A-Z_]+$/.test(text) ? text : null;
}

/** LangChain's `template_format` and `templateFormat`, Agent Lightning's `engine`. */
function templateEngine({ source }: Module, call: SyntaxNode): Filling['engine'] {
  const items = [...argumentsOf(source, call), ...argumentsOf(source, call).flatMap(({ value }) => (value?.name === 'ObjectExpression' ? optionsOf(source, call) : []))];
  const format = items.find(({ name }) => name === 'template_format' || name === 'templateFormat' || name === 'engine')?.value ?? null;
  const written = format === null ? '' : textOf(source, format);
  return /jinja/.test(written) ? 'jinja' : /mustache/.test(written) ? 'mustache' : 'format';
}

/** Python's own string.Template has another notation. */
function isStringTemplate(module: Module, callee: SyntaxNode): boolean {
  return textOf(module.source, callee).startsWith('string.') || (module.program.root.lookUp('Template') ?? []).some(({ value }) => value.kind === 'import' && value.path === 'string.Template');
}
