/**
 * What detection keeps of a source file, the same for Python and JavaScript: scopes with the values their names are bound to,
 * the definitions, and every call. Nothing is executed; a value is an expression, looked up when it is asked for.
 */

/** An expression, as far as one can follow it. */
export type Value =
  | { kind: 'name'; name: string }
  | { kind: 'member'; of: Value; name: string }
  | { kind: 'call'; of: Value; args: () => Value[] }
  /** One of several: both sides of a pipe or a condition, the parts of a list or of a concatenation. */
  | { kind: 'either'; parts: Value[] }
  /** A string literal with its quotes, or a template with its holes. */
  | { kind: 'text'; text: string }
  /** Something of another module: `openai.OpenAI` in Python, `openai:OpenAI` in JavaScript. */
  | { kind: 'import'; path: string }
  | { kind: 'definition'; definition: Definition }
  /** `self` and `this`. */
  | { kind: 'self'; of: Definition }
  | { kind: 'unknown' };

export const unknown: Value = { kind: 'unknown' };

/** A part of the text, in UTF-16 units from its start. */
export interface Span { from: number; to: number }

export interface Binding { value: Value; scope: Scope; at: Span }

export class Scope {
  readonly parent: Scope | null;
  private readonly names = new Map<string, Binding[]>();

  constructor(parent: Scope | null) {
    this.parent = parent;
  }

  /** Binds a name to a value, which is read in `scope`. A name that is bound again may be either. */
  bind(name: string, value: Value, at: Span, scope: Scope = this): void {
    const known = this.names.get(name);
    if (known === undefined) this.names.set(name, [{ value, scope, at }]);
    else known.push({ value, scope, at });
  }

  own(name: string): Binding[] | undefined { return this.names.get(name); }

  /** The names that are bound in it. */
  ownNames(): string[] { return [...this.names.keys()]; }

  /** The bindings of a name in the innermost scope that has it. */
  lookUp(name: string): Binding[] | undefined {
    return this.names.get(name) ?? this.parent?.lookUp(name);
  }
}

/** A function or class. */
export interface Definition extends Span {
  kind: 'function' | 'class';
  /** null: an anonymous function. */
  name: string | null;
  at: Span;
  parent: Definition | null;
  /** Inside it; for a class the names are its attributes. */
  scope: Scope;
  decorators: Value[];
  bases: Value[];
  returns: Value[];
  isStatic: boolean;
  /** Names that stand anywhere in it. */
  mentions: Set<string>;
}

export interface Call { value: Value & { kind: 'call' }; scope: Scope; definition: Definition | null; at: Span }

/** A name other modules can import. */
export interface Export { name: string; value: Value; at: Span }

export interface Program {
  language: 'python' | 'node';
  root: Scope;
  definitions: Definition[];
  calls: Call[];
  /** JavaScript only; in Python every module-level name can be imported. */
  exports: Export[];
  /** Modules that are imported anywhere. */
  imports: Set<string>;
}

export const emptyProgram = (language: Program['language']): Program => ({ language, root: new Scope(null), definitions: [], calls: [], exports: [], imports: new Set() });

/** Nesting beyond this is not looked into: generated code, which recursion could not follow. */
export const maxDepth = 300;

/** The function or class of the module (or method of such a class) that something stands in; null for code of the module itself. */
export function outermost(definition: Definition | null): Definition | null {
  let top = definition;
  while (top !== null && top.parent !== null && !(top.parent.kind === 'class' && top.parent.parent === null)) top = top.parent;
  return top?.kind === 'function' ? top : null;
}

/** `name` or `Class.method`; null for an anonymous function. */
export function qualifiedName(definition: Definition): string | null {
  if (definition.name === null) return null;
  return definition.parent?.kind === 'class' ? `${definition.parent.name ?? 'default'}.${definition.name}` : definition.name;
}

/** A callee as one would write it, arguments left out: `make(…).chat.completions.create`. */
export function written(value: Value): string {
  switch (value.kind) {
    case 'name': return value.name;
    case 'member': return value.name === '[]' ? `${written(value.of)}[…]` : `${written(value.of)}.${value.name}`;
    case 'call': return `${written(value.of)}(…)`;
    case 'self': return value.of.name ?? 'this';
    case 'import': return value.path.replace(/:$/, '');
    case 'definition': return value.definition.name ?? '(…)';
    default: return '(…)';
  }
}
