import type { SyntaxNode } from '@lezer/common';
import type { Binding, Definition } from '../source/program.ts';
import { textOf } from '../source/syntax.ts';
import { declaredAt, memberOf, returnsOf } from './declarations.ts';
import { definitionAt, importPath, nodeAt, scopeAt } from './modules.ts';
import type { Module } from './modules.ts';
import type { Tracer, Use } from './trace.ts';

/** Follows a name from a place where it is read to what it is bound to, and to what is put into it. */
export function traceName(tracer: Tracer, module: Module, name: string, at: number, use: Use): void {
  const bindings = scopeAt(module, at).lookUp(name);
  if (bindings === undefined) {
    traceLoop(tracer, module, name, at, use);
    return;
  }
  traceBindings(tracer, module, name, bindings, use);
}

function traceBinding(tracer: Tracer, module: Module, { value, at }: Binding, use: Use): void {
  const path = importPath(value);
  if (path !== null) traceImport(tracer, module, path, use);
  else if (value.kind === 'definition') traceReturns(tracer, module, value.definition, use);
  else traceDeclared(tracer, module, at, use);
}

/** Follows what a function gives back. As a value it is a callback, which the library calls. */
export function traceReturns(tracer: Tracer, module: Module, definition: Definition, use: Use): void {
  if (definition.kind !== 'function') return;
  const node = nodeAt(module, definition.from, definition.to);
  for (const value of node === null ? [] : returnsOf(node)) tracer.trace(module, value, use);
}

function traceImport(tracer: Tracer, module: Module, path: string, use: Use): void {
  const found = tracer.modules.imported(module, path);
  const [key, ...rest] = use.keys;
  if (found === null || (found.name === null && key === undefined)) return;
  const exported = tracer.modules.exported(found.module, found.name ?? key ?? '');
  const inner = found.name === null ? { ...use, keys: rest } : use;
  if (exported?.value !== undefined) tracer.trace(exported.module, exported.value, inner);
  else if (exported !== null) traceBindings(tracer, exported.module, exported.name, exported.bindings, inner);
}

function traceBindings(tracer: Tracer, module: Module, name: string, bindings: Binding[], use: Use): void {
  for (const binding of bindings) traceBinding(tracer, module, binding, use);
  for (const { value, keys } of tracer.uses.changesOf(module, name, bindings)) tracer.trace(module, value, { ...use, keys: keys(use.keys) });
}

function traceDeclared(tracer: Tracer, module: Module, at: { from: number; to: number }, use: Use): void {
  const declared = declaredAt(module.source, at);
  switch (declared?.kind) {
    case 'value': tracer.trace(module, declared.node, { ...use, keys: [...declared.keys, ...use.keys] }); return;
    case 'element': tracer.trace(module, declared.of, { ...use, keys: use.keys }); return;
    case 'parameter': {
      tracer.trace(module, declared.initial, { ...use, keys: [...declared.keys, ...use.keys] });
      for (const given of tracer.reach.argumentsFor(module, declared)) tracer.trace(given.module, given.node, { ...use, keys: [...given.keys, ...declared.keys, ...use.keys] });
    }
  }
}

/** `for x in …`, whose names the program does not list. */
function traceLoop(tracer: Tracer, module: Module, name: string, at: number, use: Use): void {
  for (let node: SyntaxNode | null = module.source.root.resolveInner(at, 1); node !== null; node = node.parent) {
    const isLoop = node.name === 'ForStatement' || node.name.endsWith('ComprehensionExpression') || node.name === 'ComprehensionExpression';
    const loop = node.getChild('ForOfSpec') ?? node;
    for (let target = isLoop ? loop.firstChild : null; target !== null && target.name !== 'in' && target.name !== 'of'; target = target.nextSibling) {
      if (/^Variable(Name|Definition)$/.test(target.name) && textOf(module.source, target) === name) {
        tracer.trace(module, (loop.getChild('in') ?? loop.getChild('of'))?.nextSibling, use);
        return;
      }
    }
  }
}

/** Follows an attribute, key or element. */
export function traceMember(tracer: Tracer, module: Module, node: SyntaxNode, use: Use): void {
  const member = memberOf(module.source, node);
  if (member === null) return;
  const name = textOf(module.source, member.of);
  const owner = name === 'self' || name === 'cls' || name === 'this' ? classAt(module, node.from) : null;
  if (owner === null) {
    tracer.trace(module, member.of, { ...use, keys: [member.key, ...use.keys] });
    return;
  }
  traceAttribute(tracer, module, owner, member.key, use);
  for (const { value, keys } of tracer.uses.changesOf(module, `${name}.${member.key}`, null)) tracer.trace(module, value, { ...use, keys: keys(use.keys) });
}

/** Follows an attribute of the instances of a class, its bases in the same file included. */
export function traceAttribute(tracer: Tracer, module: Module, owner: Definition, key: string, use: Use): void {
  for (const binding of owner.scope.own(key) ?? []) traceBinding(tracer, module, binding, use);
  for (const base of owner.bases) {
    const bound = base.kind === 'name' ? module.program.root.lookUp(base.name) : undefined;
    for (const { value } of bound ?? []) if (value.kind === 'definition' && value.definition !== owner) traceAttribute(tracer, module, value.definition, key, use);
  }
}

function classAt(module: Module, from: number): Definition | null {
  let at = definitionAt(module, from);
  while (at !== null && at.kind !== 'class') at = at.parent;
  return at;
}
