import type { SyntaxNode } from '@lezer/common';
import type { Binding, Definition } from '../source/program.ts';
import { argumentsOf, calleeOf, nodesOf, pathOf, textOf } from '../source/syntax.ts';
import type { Declared } from './declarations.ts';
import { declaredAt } from './declarations.ts';
import { definitionAt, importPath, scopeAt } from './modules.ts';
import type { Module, Modules } from './modules.ts';

/** A part of a file that runs when the agent runs: a function or class, or what a variable of the module is set to. */
export interface Part { module: Module; from: number; to: number }

/** Something put into a list, dict or object after it was made. */
interface Change { path: string; value: SyntaxNode; keys: (keys: readonly string[]) => readonly string[]; at: number }

interface CallSite { module: Module; call: SyntaxNode }

/** The parts of the user's files that run for one agent, as far as names tell. */
export class Reach {
  readonly parts: Part[] = [];
  /** The agents' own functions: their parameters are the task. */
  readonly entries: ReadonlySet<Definition>;
  private readonly modules: Modules;
  private readonly reached = new Set<unknown>();
  private readonly changes = new Map<Module, Change[]>();
  private readonly sites = new Map<Definition, CallSite[]>();
  private sitesOf = 0;

  /** @param starts the agents' functions; none: every part of the module runs */
  constructor(modules: Modules, module: Module, starts: readonly Definition[], whole: boolean) {
    this.modules = modules;
    this.entries = new Set(starts);
    for (const start of starts) this.definition(module, start);
    if (whole) {
      this.parts.push({ module, from: 0, to: module.source.text.length });
      for (const definition of module.program.definitions) this.definition(module, definition);
      for (const name of module.program.root.ownNames()) this.mention(module, name, module.program.root.own(name) ?? []);
    }
  }

  has(module: Module, from: number): boolean {
    return this.parts.some((part) => part.module === module && part.from <= from && from < part.to);
  }

  private definition(module: Module, definition: Definition): void {
    if (this.reached.has(definition)) return;
    this.reached.add(definition);
    this.parts.push({ module, from: definition.from, to: definition.to });
    for (const name of definition.mentions) {
      if (name.startsWith('self.')) {
        let owner: Definition | null = definition;
        while (owner !== null && owner.kind !== 'class') owner = owner.parent;
        for (const { value } of owner?.scope.own(name.slice(5)) ?? []) if (value.kind === 'definition') this.definition(module, value.definition);
        if (owner !== null) this.initialised(module, owner);
      } else this.mention(module, name, definition.scope.lookUp(name) ?? []);
    }
    if (definition.kind === 'class') for (const method of module.program.definitions) if (method.parent === definition) this.definition(module, method);
    if (definition.parent?.kind === 'class') this.initialised(module, definition.parent);
  }

  /** A method runs on an instance, which was made. */
  private initialised(module: Module, owner: Definition): void {
    for (const name of ['__init__', 'constructor', '__post_init__']) for (const { value } of owner.scope.own(name) ?? []) if (value.kind === 'definition') this.definition(module, value.definition);
  }

  private mention(module: Module, name: string, bindings: Binding[]): void {
    for (const binding of bindings) {
      if (binding.value.kind === 'definition') this.definition(module, binding.value.definition);
      else if (importPath(binding.value) !== null) this.imported(module, importPath(binding.value) ?? '');
      else if (binding.scope === module.program.root && !this.reached.has(binding)) {
        this.reached.add(binding);
        this.variable(module, name, binding, bindings);
      }
    }
  }

  private variable(module: Module, name: string, { at }: Binding, bindings: Binding[]): void {
    const declared = declaredAt(module.source, at);
    const values = declared?.kind === 'value' ? [declared.node] : [];
    for (const { value } of this.changesOf(module, name, bindings)) values.push(value);
    for (const value of values) {
      this.parts.push({ module, from: value.from, to: value.to });
      for (const node of nodesOf(value, ['VariableName'])) this.mention(module, textOf(module.source, node), scopeAt(module, node.from).lookUp(textOf(module.source, node)) ?? []);
    }
  }

  private imported(module: Module, path: string): void {
    const found = this.modules.imported(module, path);
    if (found === null || this.reached.has(`${found.module.path}:${found.name}`)) return;
    this.reached.add(`${found.module.path}:${found.name}`);
    // Which names of a whole module are used is not followed: all of them.
    for (const name of found.name === null ? found.module.program.root.ownNames() : [found.name]) {
      const exported = this.modules.exported(found.module, name);
      if (exported?.value !== undefined) this.parts.push({ module: exported.module, from: exported.value.from, to: exported.value.to });
      else if (exported !== null) this.mention(exported.module, exported.name, exported.bindings);
    }
  }

  /** What is given for a parameter where its function is called, in parts that run. */
  argumentsFor(module: Module, parameter: Declared & { kind: 'parameter' }): { module: Module; node: SyntaxNode; keys: readonly string[] }[] {
    const definition = module.program.definitions.find(({ from, to }) => from === parameter.function.from && to === parameter.function.to);
    if (definition === undefined || this.entries.has(definition)) return [];
    const made = definition.parent?.kind === 'class' && /^(__init__|constructor)$/.test(definition.name ?? '') ? definition.parent : definition;
    const isMethod = definition.parent?.kind === 'class' && module.source.language === 'python' && !definition.isStatic;
    const index = parameter.index - (isMethod ? 1 : 0);
    return this.callsOf(made).flatMap(({ module: at, call }) => {
      if (!this.has(at, call.from)) return [];
      const given = argumentsOf(at.source, call);
      const named = given.find(({ name }) => name === parameter.name) ?? given.filter(({ name, spread }) => name === null && !spread)[index];
      return named?.value == null ? [] : [{ module: at, node: named.value, keys: [] }];
    });
  }

  private callsOf(definition: Definition): CallSite[] {
    const { loaded } = this.modules;
    if (loaded.length !== this.sitesOf) {
      this.sites.clear();
      this.sitesOf = loaded.length;
      for (const module of loaded) for (const call of nodesOf(module.source.root, ['CallExpression', 'NewExpression'])) {
        for (const made of this.calledBy(module, calleeOf(call))) this.sites.set(made.definition, [...this.sites.get(made.definition) ?? [], { module, call }]);
      }
    }
    return this.sites.get(definition) ?? [];
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
    return all.filter((change) => change.path === path && (bindings === null || scopeAt(module, change.at).lookUp(path) === bindings));
  }
}

const adders = /^(append|extend|insert|push|unshift|concat|update|add_?\w*|addNode|addMessages?)$/;

function changesIn({ source }: Module): Change[] {
  const found: Change[] = [];
  const pathText = (node: SyntaxNode | null): string | null => pathOf(source, node)?.join('.') ?? null;
  const same = (keys: readonly string[]): readonly string[] => keys;
  const element = (keys: readonly string[]): readonly string[] => (/^(\*|-?\d+)$/.test(keys[0] ?? '') ? keys.slice(1) : keys);
  for (const node of nodesOf(source.root, ['CallExpression', 'UpdateStatement', 'AssignStatement', 'AssignmentExpression'])) {
    const target = node.firstChild;
    if (node.name === 'CallExpression') {
      const method = target?.name === 'MemberExpression' ? target.getChild('PropertyName') : null;
      const path = method !== null && adders.test(textOf(source, method)) ? pathText(target?.firstChild ?? null) : null;
      if (path !== null) for (const { value } of argumentsOf(source, node)) if (value !== null) found.push({ path, value, keys: /^(extend|update|concat)$/.test(textOf(source, method ?? node)) ? same : element, at: node.from });
    } else if (node.name === 'UpdateStatement' || node.getChild('UpdateOp') !== null) {
      const path = pathText(target);
      if (path !== null && node.lastChild !== null) found.push({ path, value: node.lastChild, keys: same, at: node.from });
    } else if (target?.name === 'MemberExpression' && target.firstChild !== null && node.lastChild !== null) {
      const path = pathText(target.firstChild);
      const property = target.getChild('PropertyName');
      const index = target.getChild('[')?.nextSibling;
      const key = property !== null ? textOf(source, property) : index?.name === 'String' ? textOf(source, index).slice(1, -1) : '*';
      if (path !== null && path !== 'self' && path !== 'this') found.push({ path, value: node.lastChild, keys: (keys) => (keys.length === 0 || keys[0] === '*' || key === '*' || keys[0] === key ? keys.slice(1) : ['\0']), at: node.from });
    }
  }
  return found;
}
