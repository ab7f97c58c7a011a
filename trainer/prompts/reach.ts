import type { SyntaxNode } from '@lezer/common';
import type { Binding, Definition } from '../source/program.ts';
import { argumentsOf, nodesOf, textOf } from '../source/syntax.ts';
import type { Declared } from './declarations.ts';
import { declaredAt } from './declarations.ts';
import { importPath, scopeAt } from './modules.ts';
import type { Module, Modules } from './modules.ts';
import type { Uses } from './uses.ts';

/** A part of a file that runs when the agent runs: a function or class, or what a variable of the module is set to. */
export interface Part { module: Module; from: number; to: number }

/** The parts of the user's files that run for one agent, as far as names tell. */
export class Reach {
  readonly parts: Part[] = [];
  /** The agents' own functions: their parameters are the task. */
  readonly entries: ReadonlySet<Definition>;
  private readonly modules: Modules;
  private readonly reached = new Set<unknown>();
  private readonly uses: Uses;

  /** @param starts the agents' functions; none: every part of the module runs */
  constructor(modules: Modules, uses: Uses, module: Module, starts: readonly Definition[], whole: boolean) {
    this.modules = modules;
    this.uses = uses;
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
    for (const { value } of this.uses.changesOf(module, name, bindings)) values.push(value);
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
    return this.uses.callsOf(made).flatMap(({ module: at, call }) => {
      if (!this.has(at, call.from)) return [];
      const given = argumentsOf(at.source, call);
      const named = given.find(({ name }) => name === parameter.name) ?? given.filter(({ name, spread }) => name === null && !spread)[index];
      return named?.value == null ? [] : [{ module: at, node: named.value, keys: [] }];
    });
  }
}
