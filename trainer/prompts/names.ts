import type { SyntaxNode } from '@lezer/common';
import { qualifiedName } from '../source/program.ts';
import { textOf } from '../source/syntax.ts';
import { definitionAt } from './modules.ts';
import type { Module } from './modules.ts';

const breaks = /^(FunctionDefinition|FunctionDeclaration|FunctionExpression|ArrowFunction|MethodDeclaration|ClassDefinition|ClassDeclaration|Body|Block|Script)$/;

/** What a literal is called by: its function, the variable or keys it is in, and what it is given as. */
export function nameOf(module: Module, literal: SyntaxNode, label: string | null): string {
  const { source } = module;
  const path: string[] = [];
  let own = false;
  for (let node: SyntaxNode | null = literal; node !== null && !breaks.test(node.name); node = node.parent) {
    const { parent } = node;
    if (parent?.name === 'AssignStatement' && parent.firstChild !== null && parent.firstChild.from !== node.from) {
      path.unshift(textOf(source, parent.firstChild).replace(/^(self|cls)\./, '').replace(/\[["']?(.*?)["']?\]/g, '.$1'));
      own = true;
    } else if (parent?.name === 'VariableDeclaration' || parent?.name === 'PropertyDeclaration') {
      let target: SyntaxNode | null = node;
      while (target !== null && !/^(VariableDefinition|PropertyDefinition|ObjectPattern|ArrayPattern)$/.test(target.name)) target = target.prevSibling;
      if (target !== null && target.name.endsWith('Definition')) path.unshift(textOf(source, target));
      own = true;
    } else if (parent?.name === 'AssignmentExpression' && parent.firstChild !== null && parent.firstChild.from !== node.from) {
      path.unshift(textOf(source, parent.firstChild).replace(/^this\./, '').replace(/\[["']?(.*?)["']?\]/g, '.$1'));
      own = true;
    } else if (parent?.name === 'Property' && parent.firstChild?.name === 'PropertyDefinition' && !own) path.unshift(textOf(source, parent.firstChild));
    else if (parent?.name === 'DictionaryExpression' && node.prevSibling?.name === ':' && node.prevSibling.prevSibling?.name === 'String') path.unshift(textOf(source, node.prevSibling.prevSibling).slice(1, -1));
    else if (parent?.name === 'ArgList' && node.prevSibling?.name === 'AssignOp' && node.prevSibling.prevSibling !== null) path.unshift(textOf(source, node.prevSibling.prevSibling));
    if (parent?.name === 'ParamList') {
      const name = node.prevSibling?.prevSibling;
      if (name != null) path.unshift(textOf(source, name));
    }
  }
  const keys = path.filter((key) => !/^(content|messages|parts|text|role|input|body|data|json)$/.test(key));
  const last = keys.at(-1);
  if (label !== null && (last === undefined || !own) && last !== label && !/^(content|messages|parts|text|input)$/.test(label)) keys.push(label);
  const within: string[] = [];
  for (let at = definitionAt(module, literal.from); at !== null; at = at.parent) {
    const name = at.parent?.kind === 'class' ? qualifiedName(at) : at.kind === 'class' && within.length > 0 ? null : at.name;
    if (name !== null) within.unshift(name);
  }
  const name = [...within, ...keys].join('.').replace(/\s+/g, ' ');
  return name === '' ? 'prompt' : name;
}
