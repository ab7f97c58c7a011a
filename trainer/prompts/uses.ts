import type { SyntaxNode } from '@lezer/common';
import { llmCalls } from '../source/frameworks.ts';
import type { Binding, Definition } from '../source/program.ts';
import { argumentsOf, calleeOf, nodesOf, pathOf, textOf } from '../source/syntax.ts';
import { definitionAt, importPath, scopeAt } from './modules.ts';
import type { Module, Modules } from './modules.ts';

/** Something put into a list, dict or object after it was made. */
export interface Change { path: string; value: SyntaxNode; keys: (keys: readonly string[]) => readonly string[]; at: number }

export interface CallSite { module: Module; call: SyntaxNode }

/** Where the user's functions are called, and what is put into variables, over all files that were read. */
export class Uses {
  private readonly modules: Modules;
  private readonly changes = new Map<Module, Map<string, Change[]>>();
  private readonly sites = new Map<Definition, CallSite[]>();
  private readonly modelCalls = new Map<Module, Set<string>>();
  private readonly indexed = new Set<Module>();

  constructor(modules: Modules) {
    this.modules = modules;
  }

  callsOf(definition: Definition): CallSite[] {
    for (const module of this.modules.loaded) {
      if (this.indexed.has(module)) continue;
      this.indexed.add(module);
      for (const call of nodesOf(module.source.root, ['CallExpression', 'NewExpression'])) {
        for (const called of this.calledBy(module, calleeOf(call))) {
          const known = this.sites.get(called.definition);
          if (known === undefined) this.sites.set(called.definition, [{ module, call }]);
          else known.push({ module, call });
        }
      }
    }
    return this.sites.get(definition) ?? [];
  }

  /** Whether a callee reaches a model: what it gives back is the model's. */
  isModelCall(module: Module, callee: SyntaxNode): boolean {
    let calls = this.modelCalls.get(module);
    if (calls === undefined) {
      calls = new Set(llmCalls(module.program).map(({ call }) => `${call.at.from}:${call.at.to}`));
      this.modelCalls.set(module, calls);
    }
    return calls.has(`${callee.from}:${callee.to}`);
  }

  /** The functions and classes of the user's that a callee can be. */
  calledBy(module: Module, callee: SyntaxNode | null): { module: Module; definition: Definition }[] {
    const node = callee?.name === 'InstantiationExpression' ? callee.firstChild : callee;
    if (node?.name === 'VariableName') return this.definitionsOf(module, scopeAt(module, node.from).lookUp(textOf(module.source, node)) ?? []);
    const path = node?.name === 'MemberExpression' ? pathOf(module.source, node) : null;
    const [start = '', name = ''] = path ?? [];
    if (path?.length !== 2) return [];
    if (/^(self|cls|this)$/.test(start)) {
      let owner = definitionAt(module, node?.from ?? 0);
      while (owner !== null && owner.kind !== 'class') owner = owner.parent;
      return this.definitionsOf(module, owner?.scope.own(name) ?? []);
    }
    return (scopeAt(module, node?.from ?? 0).lookUp(start) ?? []).flatMap(({ value, scope }) => {
      if (value.kind === 'import') {
        const found = this.modules.imported(module, value.path);
        return found?.name === null ? this.definitionsOf(found.module, found.module.program.root.own(name) ?? []) : [];
      }
      const declared = value.kind === 'call' && value.of.kind === 'name' ? scope.lookUp(value.of.name) : undefined;
      return this.definitionsOf(module, declared ?? []).flatMap((each) => (each.definition.kind === 'class' ? this.definitionsOf(each.module, each.definition.scope.own(name) ?? []) : []));
    });
  }

  private definitionsOf(module: Module, bindings: Binding[]): { module: Module; definition: Definition }[] {
    return bindings.flatMap(({ value }) => {
      if (value.kind === 'definition') return [{ module, definition: value.definition }];
      const path = importPath(value);
      const found = path === null ? null : this.modules.imported(module, path);
      const exported = found?.name == null ? null : this.modules.exported(found.module, found.name);
      return (exported?.bindings ?? []).flatMap(({ value: made }) => (exported !== null && made.kind === 'definition' ? [{ module: exported.module, definition: made.definition }] : []));
    });
  }

  /** What is put into a variable (`messages.append(…)`, `messages += …`, `body["x"] = …`) where it means the same as here. */
  changesOf(module: Module, path: string, bindings: Binding[] | null): Change[] {
    let all = this.changes.get(module);
    if (all === undefined) {
      all = changesIn(module);
      this.changes.set(module, all);
    }
    return (all.get(path) ?? []).filter((change) => bindings === null || scopeAt(module, change.at).lookUp(path) === bindings);
  }
}

const adders = /^(append|extend|insert|push|unshift|concat|update|add_?\w*|addNode|addMessages?)$/;

function changesIn({ source }: Module): Map<string, Change[]> {
  const found = new Map<string, Change[]>();
  const add = (change: Change): void => { found.set(change.path, [...found.get(change.path) ?? [], change]); };
  const pathText = (node: SyntaxNode | null): string | null => pathOf(source, node)?.join('.') ?? null;
  const same = (keys: readonly string[]): readonly string[] => keys;
  const element = (keys: readonly string[]): readonly string[] => (/^(\*|-?\d+)$/.test(keys[0] ?? '') ? keys.slice(1) : keys);
  for (const node of nodesOf(source.root, ['CallExpression', 'UpdateStatement', 'AssignStatement', 'AssignmentExpression'])) {
    const target = node.firstChild;
    if (node.name === 'CallExpression') {
      const method = target?.name === 'MemberExpression' ? target.getChild('PropertyName') : null;
      const path = method !== null && adders.test(textOf(source, method)) ? pathText(target?.firstChild ?? null) : null;
      if (path !== null) for (const { value } of argumentsOf(source, node)) if (value !== null) add({ path, value, keys: /^(extend|update|concat)$/.test(textOf(source, method ?? node)) ? same : element, at: node.from });
    } else if (node.name === 'UpdateStatement' || node.getChild('UpdateOp') !== null) {
      const path = pathText(target);
      if (path !== null && node.lastChild !== null) add({ path, value: node.lastChild, keys: same, at: node.from });
    } else if (target?.name === 'MemberExpression' && target.firstChild !== null && node.lastChild !== null) {
      const path = pathText(target.firstChild);
      const property = target.getChild('PropertyName');
      const index = target.getChild('[')?.nextSibling;
      const key = property !== null ? textOf(source, property) : index?.name === 'String' ? textOf(source, index).slice(1, -1) : '*';
      if (path !== null && path !== 'self' && path !== 'this') add({ path, value: node.lastChild, keys: (keys) => (keys.length === 0 || keys[0] === '*' || key === '*' || keys[0] === key ? keys.slice(1) : ['\0']), at: node.from });
    }
  }
  return found;
}
