import type { SyntaxNode } from '@lezer/common';
import { qualifiedName } from '../source/program.ts';
import { calleeOf, isCall, itemsOf, textOf } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';
import { definitionAt } from './modules.ts';
import type { Module } from './modules.ts';

const outside = /^(FunctionDefinition|FunctionDeclaration|FunctionExpression|ArrowFunction|LambdaExpression|MethodDeclaration|ClassDefinition|ClassDeclaration|Body|Block|Script)$/;
/** Calls that make the thing that the variable is: what they are given belongs to it. */
const makes = /^[A-Z]|^(create|make|init|build|from|define)[_A-Z]|^render|^(tool|dict|dedent|cleandoc|stripIndent|freeze|format|join)$/;
const plain = /^(content|contents|parts|text|messages)$/;

/** What a literal is called by: its function, the variable and keys it is in, and the role or argument it is given as. */
export function nameOf(module: Module, literal: SyntaxNode): string {
  const { source } = module;
  const path: string[] = [];
  for (let node = literal; node.parent !== null && !outside.test(node.name); node = node.parent) {
    const { names, isOwn } = stepOf(source, node, node.parent);
    path.unshift(...names.filter((name) => name !== ''));
    if (!isOwn) break;
  }
  return [...functionsAround(module, literal.from), ...path].join('.').replace(/\s+/g, ' ') || 'prompt';
}

/** What a node is called in its parent, and whether names further out are its own as well. */
interface Step { names: string[]; isOwn: boolean }
const named = (...names: string[]): Step => ({ names, isOwn: true });

function stepOf(source: Source, node: SyntaxNode, parent: SyntaxNode): Step {
  switch (parent.name) {
    case 'AssignStatement': case 'AssignmentExpression':
      return parent.firstChild === null || parent.firstChild.from === node.from ? named() : named(textOf(source, parent.firstChild).replace(/^(self|cls|this)\./, '').replace(/\[["']?(.*?)["']?\]/g, '.$1'));
    case 'VariableDeclaration': case 'PropertyDeclaration': case 'ParamList': {
      const target = before(node, /^(VariableDefinition|PropertyDefinition|VariableName)$/);
      return target === null ? named() : named(textOf(source, target));
    }
    case 'Property': case 'DictionaryExpression': {
      const key = parent.name === 'Property' ? parent.firstChild : node.prevSibling?.name === ':' ? node.prevSibling.prevSibling : null;
      if (key === null || key.from === node.from) return named();
      const name = textOf(source, key).replace(/^["']|["']$/g, '');
      return named(plain.test(name) ? roleIn(source, parent.name === 'Property' ? parent.parent : parent) ?? '' : name);
    }
    case 'TupleExpression': case 'ArrayExpression': return named(roleOfPair(source, parent, node) ?? '');
    case 'ArgList': {
      const callee = parent.parent !== null && isCall(parent.parent) ? calleeOf(parent.parent) : null;
      const label = node.prevSibling?.name === 'AssignOp' && node.prevSibling.prevSibling !== null ? textOf(source, node.prevSibling.prevSibling) : '';
      return callee === null ? named() : argumentStep(source, callee, label);
    }
    default: return named();
  }
}

function argumentStep(source: Source, callee: SyntaxNode, label: string): Step {
  const code = textOf(source, callee).replace(/<[^]*>$/, '');
  const role = /(?:^|\.)(System|Human|User|AI|Assistant|Developer)\w*Message(PromptTemplate)?(?:$|\.)/.exec(code)?.[1];
  if (role !== undefined) return named(roleName(role.toLowerCase()));
  const list = /^(?:self\.|this\.)?([\w$.]+)\.(append|extend|insert|push|unshift)$/.exec(code)?.[1];
  // The variable that another call's result is put into holds the answer.
  return { names: [list ?? (plain.test(label) ? '' : label)], isOwn: makes.test(/[\w$]*$/.exec(code)?.[0] ?? '') || /^[A-Z]\w*\.create$/.test(code) };
}

function before(node: SyntaxNode, kind: RegExp): SyntaxNode | null {
  let target = node.prevSibling;
  while (target !== null && !kind.test(target.name) && target.name !== ',') target = target.prevSibling;
  return target !== null && kind.test(target.name) ? target : null;
}

function roleIn(source: Source, object: SyntaxNode | null): string | null {
  const role = itemsOf(source, object).find(({ name }) => name === 'role')?.value;
  return role === null || role === undefined ? null : wordOf(textOf(source, role));
}

function roleOfPair(source: Source, pair: SyntaxNode, node: SyntaxNode): string | null {
  const [first, second] = itemsOf(source, pair).map(({ value }) => value);
  return first?.name === 'String' && second?.from === node.from ? wordOf(textOf(source, first)) : null;
}

const wordOf = (code: string): string | null => {
  const word = /^["'](system|human|user|ai|assistant|developer)["']/.exec(code)?.[1];
  return word === undefined ? null : roleName(word);
};

const roleName = (role: string): string => (role === 'human' ? 'user' : role === 'ai' ? 'assistant' : role);

function functionsAround(module: Module, from: number): string[] {
  const names: string[] = [];
  for (let at = definitionAt(module, from); at !== null; at = at.parent) {
    const name = at.kind === 'class' && names.length > 0 ? null : qualifiedName(at);
    if (name !== null) names.unshift(name);
  }
  return names;
}
