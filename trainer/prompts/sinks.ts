import type { SyntaxNode } from '@lezer/common';
import { argumentsOf, calleeOf, isText, itemsOf, nodesOf, textOf } from '../source/syntax.ts';
import { crewConfig } from './calls.ts';
import { standingOf } from './labels.ts';
import type { Module } from './modules.ts';
import { filledUse, toldUse } from './trace.ts';
import type { Tracer } from './trace.ts';

/** Names under which only prompts are given, whatever is called. */
const telling = /^(instructions|system_?prompt|system_?message|system_?instruction|backstory|state_?modifier|messages_?modifier|prompt_?template)$/i;
const templates = /^(from_messages|fromMessages|from_template|fromTemplate)$|PromptTemplate$|^(System|Human)Message$/;

/** Follows back all that the parts of an agent send to a model, or make that can only be meant for one. */
export function traceSinks(tracer: Tracer): void {
  const { reach, uses } = tracer;
  // Files that are read on the way have parts of their own.
  for (const module of new Set(reach.parts.map((part) => part.module))) {
    for (const node of nodesOf(module.source.root, ['CallExpression', 'NewExpression', 'DictionaryExpression', 'ObjectExpression'])) {
      if (!reach.has(module, node.from)) continue;
      const callee = node.name.endsWith('Expression') && !/^(Dict|Object)/.test(node.name) ? calleeOf(node) : null;
      if (callee === null) traceMessage(tracer, module, node);
      else if (uses.isModelCall(module, callee)) traceModelCall(tracer, module, node, callee);
      else if (isTelling(module, node, callee)) tracer.trace(module, node, toldUse);
    }
  }
}

/** `{role, content}` is a message, wherever it goes. */
function traceMessage(tracer: Tracer, module: Module, node: SyntaxNode): void {
  const names = new Set(itemsOf(module.source, node).map(({ name }) => name));
  if (names.has('role') && (names.has('content') || names.has('parts'))) tracer.trace(module, node, toldUse);
}

function isTelling(module: Module, call: SyntaxNode, callee: SyntaxNode): boolean {
  const { source } = module;
  const property = callee.name === 'MemberExpression' ? callee.getChild('PropertyName') : callee;
  if (property !== null && templates.test(textOf(source, property))) return true;
  return argumentsOf(source, call).some(({ name, value }) => (name !== null && telling.test(name)) || crewConfig(module, value) || (value?.name === 'ObjectExpression' && itemsOf(source, value).some((item) => item.name !== null && telling.test(item.name))));
}

/** What the call is given, and what it is a method of: a chain or an agent has its prompts inside. */
function traceModelCall(tracer: Tracer, module: Module, call: SyntaxNode, callee: SyntaxNode): void {
  const { source } = module;
  const property = callee.name === 'MemberExpression' ? callee.getChild('PropertyName') : null;
  if (property !== null) tracer.trace(module, callee.firstChild, toldUse);
  const fillsIn = property !== null && /^(a?invoke|a?stream|a?batch|a?kickoff)/.test(textOf(source, property));
  for (const { name, value, spread } of argumentsOf(source, call)) {
    if (name === 'user') continue; // of whom the request is
    if (fillsIn && (value?.name === 'DictionaryExpression' || value?.name === 'ObjectExpression')) traceInputs(tracer, module, value);
    else if (spread || name === null || standingOf(name, 'told') !== null) tracer.trace(module, value, toldUse);
  }
}

/** What a chain is asked with: messages, and values for its templates, which are no prompts where they are written out. */
function traceInputs(tracer: Tracer, module: Module, inputs: SyntaxNode): void {
  for (const { name, value } of itemsOf(module.source, inputs)) {
    if (name !== null && /message|^input$/.test(name)) tracer.trace(module, value, toldUse);
    else if (value !== null && !isText(value)) tracer.trace(module, value, filledUse);
  }
}
