import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/python';
import { parseInPieces } from './parse.ts';
import { emptyProgram, maxDepth, Scope, unknown } from './program.ts';
import type { Definition, Program, Value } from './program.ts';

interface Place { scope: Scope; definition: Definition | null; depth: number }

const startsOfStatements = /^(?:async |def |class |from |import |@)/gm;
const statementsOfTheModule = new Set(['FunctionDefinition', 'ClassDefinition', 'DecoratedStatement', 'ImportStatement']);

/** Reads a Python source; never fails on text that does not parse. */
export function readPython(text: string): Program {
  return new PythonReader(text).read();
}

class PythonReader {
  private readonly text: string;
  private program = emptyProgram('python');
  private sawError = false;

  constructor(text: string) {
    this.text = text;
  }

  read(): Program {
    const tree = parser.parse(this.text);
    this.visitAll(tree.topNode, this.module());
    if (!this.sawError) return this.program;
    this.program = emptyProgram('python');
    for (const piece of parseInPieces(parser, this.text, tree, startsOfStatements)) this.visitAll(piece, this.module());
    return this.program;
  }

  private module(): Place { return { scope: this.program.root, definition: null, depth: 0 }; }
  private textOf(node: SyntaxNode): string { return this.text.slice(node.from, node.to); }

  private visitAll(node: SyntaxNode, place: Place): void {
    if (place.depth > maxDepth) return;
    const inside = { ...place, depth: place.depth + 1 };
    for (let child = node.firstChild; child !== null; child = child.nextSibling) this.visit(child, inside);
  }

  private visit(node: SyntaxNode, place: Place): void {
    if (node.type.isError) this.sawError = true;
    // A definition in the first column is the module's, also when a parenthesis that is still open above it says otherwise.
    if (place.definition !== null && statementsOfTheModule.has(node.name) && this.isAtLineStart(node)) {
      place = this.module();
    }
    switch (node.name) {
      case 'ImportStatement': this.readImport(node, place.scope); return;
      case 'DecoratedStatement': {
        const defined = node.getChild('FunctionDefinition') ?? node.getChild('ClassDefinition');
        for (const decorator of node.getChildren('Decorator')) this.visitAll(decorator, place);
        if (defined !== null) this.readDefinition(defined, place, node.getChildren('Decorator').map((decorator) => this.decorator(decorator)));
        return;
      }
      case 'FunctionDefinition': case 'ClassDefinition': case 'LambdaExpression': this.readDefinition(node, place, []); return;
      case 'AssignStatement': this.readAssignment(node, place); break;
      case 'NamedExpression': this.bind(node.firstChild, this.lastValue(node), place); break;
      case 'WithStatement': this.readWith(node, place); break;
      case 'ReturnStatement': place.definition?.returns.push(this.lastValue(node)); break;
      case 'CallExpression': {
        const value = this.value(node);
        const callee = node.firstChild;
        if (value.kind === 'call' && callee !== null) this.program.calls.push({ value, scope: place.scope, definition: place.definition, at: { from: callee.from, to: callee.to } });
        break;
      }
      case 'MemberExpression': {
        const property = node.getChild('PropertyName');
        const self = node.firstChild;
        if (property !== null && self?.name === 'VariableName' && (this.textOf(self) === 'self' || this.textOf(self) === 'cls')) this.mention(`self.${this.textOf(property)}`, place);
        break;
      }
      case 'VariableName': this.mention(this.textOf(node), place); return;
    }
    this.visitAll(node, place);
  }

  private isAtLineStart(node: SyntaxNode): boolean {
    return node.from === 0 || this.text[node.from - 1] === '\n';
  }

  private mention(name: string, place: Place): void {
    for (let at = place.definition; at !== null; at = at.parent) at.mentions.add(name);
  }

  private readDefinition(node: SyntaxNode, place: Place, decorators: Value[]): void {
    const isClass = node.name === 'ClassDefinition';
    const nameNode = isClass || node.name === 'FunctionDefinition' ? node.getChild('VariableName') : null;
    const inClass = place.definition?.kind === 'class' ? place.definition : null;
    const definition: Definition = {
      kind: isClass ? 'class' : 'function', name: nameNode === null ? null : this.textOf(nameNode), at: nameNode ?? node, from: node.from, to: node.to,
      parent: place.definition, scope: new Scope(inClass !== null && place.scope === inClass.scope ? place.scope.parent : place.scope), decorators,
      bases: [], returns: [], mentions: new Set(), isStatic: decorators.some((decorator) => decorator.kind === 'name' && decorator.name === 'staticmethod'),
    };
    this.program.definitions.push(definition);
    if (definition.name !== null) place.scope.bind(definition.name, { kind: 'definition', definition }, definition.at);
    const inside = { scope: definition.scope, definition, depth: place.depth };
    if (isClass) {
      const bases = node.getChild('ArgList');
      if (bases !== null) definition.bases = this.positional(bases);
    } else {
      const parameters = node.getChild('ParamList');
      if (parameters !== null) this.readParameters(parameters, definition, inClass);
    }
    for (let child = node.firstChild; child !== null; child = child.nextSibling) if (child !== nameNode) this.visit(child, inside);
  }

  private readParameters(list: SyntaxNode, definition: Definition, inClass: Definition | null): void {
    let isFirst = true;
    for (let child = list.firstChild; child !== null; child = child.nextSibling) {
      if (child.name !== 'VariableName' || child.prevSibling?.name === 'AssignOp') continue;
      const name = this.textOf(child);
      const type = child.nextSibling?.name === 'TypeDef' ? child.nextSibling : null;
      const equals = (type ?? child).nextSibling;
      const value = isFirst && inClass !== null && !definition.isStatic ? { kind: 'self', of: inClass } as const
        : type !== null ? this.typed(type) : equals?.name === 'AssignOp' && equals.nextSibling !== null ? this.value(equals.nextSibling) : unknown;
      definition.scope.bind(name, value, child);
      isFirst = false;
    }
  }

  /** Decorators hold their path flat: `@ a . b ( … )`. */
  private decorator(node: SyntaxNode): Value {
    let value: Value = unknown;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === 'VariableName' && value.kind === 'unknown') value = { kind: 'name', name: this.textOf(child) };
      else if (child.name === 'VariableName' || child.name === 'PropertyName') value = { kind: 'member', of: value, name: this.textOf(child) };
      else if (child.name === 'ArgList') value = { kind: 'call', of: value, args: this.lazyArguments(child) };
      else if (child.name.endsWith('Expression')) value = this.value(child);
    }
    return value;
  }

  private readAssignment(node: SyntaxNode, place: Place): void {
    const groups: SyntaxNode[][] = [[]];
    let type: SyntaxNode | null = null;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === 'AssignOp') groups.push([]);
      else if (child.name === 'TypeDef') type = child;
      else if (child.name !== ',' && !child.type.isError) groups.at(-1)?.push(child);
    }
    const values = groups.length > 1 ? groups.pop() ?? [] : [];
    for (const targets of groups) {
      for (const [index, target] of targets.entries()) {
        const given = values.length === targets.length ? values[index] : undefined;
        const value = given === undefined ? unknown : this.value(given);
        this.bind(target, type === null ? value : value.kind === 'unknown' ? this.typed(type) : { kind: 'either', parts: [value, this.typed(type)] }, place);
      }
    }
  }

  private readWith(node: SyntaxNode, place: Place): void {
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === 'as' && child.prevSibling !== null) this.bind(child.nextSibling, this.value(child.prevSibling), place);
    }
  }

  private bind(target: SyntaxNode | null, value: Value, { scope, definition }: Place): void {
    if (target?.name === 'VariableName') scope.bind(this.textOf(target), value, target);
    if (target?.name !== 'MemberExpression' || target.firstChild?.name !== 'VariableName') return;
    const self = scope.lookUp(this.textOf(target.firstChild))?.[0]?.value;
    const property = target.getChild('PropertyName');
    if (self?.kind === 'self' && property !== null && definition !== null) self.of.scope.bind(this.textOf(property), value, property, scope);
  }

  /** An instance of one of the types an annotation names; a type in quotes counts. */
  private typed(annotation: SyntaxNode): Value {
    const parts: Value[] = [];
    const collect = (node: SyntaxNode): void => {
      const quoted = node.name === 'String' ? /^["']([\w.]+)["']$/.exec(this.textOf(node))?.[1] : undefined;
      if (quoted !== undefined) {
        const [first = '', ...rest] = quoted.split('.');
        parts.push(instanceOf(rest.reduce<Value>((of, name) => ({ kind: 'member', of, name }), { kind: 'name', name: first })));
      } else if (node.name === 'VariableName' || (node.name === 'MemberExpression' && node.getChild('[') === null)) parts.push(instanceOf(this.value(node)));
      else for (let child = node.firstChild; child !== null; child = child.nextSibling) collect(child);
    };
    collect(annotation);
    return { kind: 'either', parts };
  }

  /** `import a.b as c`, `from .m import x as y, z`. */
  private readImport(statement: SyntaxNode, scope: Scope): void {
    let module = '';
    let dotted = '';
    let alias: SyntaxNode | null = null;
    let last: SyntaxNode = statement;
    let isFrom = false;
    let names = false; // beyond the `import` of a `from … import`
    const close = (): void => {
      if (dotted !== '') {
        const root = dotted.split('.')[0] ?? '';
        if (isFrom) scope.bind(this.textOf(alias ?? last), { kind: 'import', path: module.endsWith('.') ? module + dotted : `${module}.${dotted}` }, alias ?? last);
        else scope.bind(alias === null ? root : this.textOf(alias), { kind: 'import', path: alias === null ? root : dotted }, alias ?? last);
        if (!isFrom) this.program.imports.add(dotted);
      }
      dotted = '';
      alias = null;
    };
    for (let node = statement.firstChild; node !== null; node = node.nextSibling) {
      if (node.type.isError) this.sawError = true;
      if (node.name === 'from') isFrom = true;
      else if (node.name === 'import' && isFrom) {
        module = dotted;
        dotted = '';
        names = true;
        this.program.imports.add(module);
      } else if (node.name === ',') close();
      else if (node.name === '*' && names) for (const name of starNames) scope.bind(name, { kind: 'import', path: `${module}.${name}` }, node);
      else if (node.name === 'VariableName' && node.prevSibling?.name === 'as') alias = node;
      else if (node.name === 'VariableName') {
        dotted += this.textOf(node);
        last = node;
      } else if (/^\.+$/.test(this.textOf(node))) dotted += this.textOf(node);
    }
    close();
  }

  private lastValue(node: SyntaxNode, depth = 0): Value {
    return node.lastChild === null ? unknown : this.value(node.lastChild, depth);
  }

  private value(node: SyntaxNode, depth = 0): Value {
    if (depth > maxDepth) return unknown;
    switch (node.name) {
      case 'VariableName': return { kind: 'name', name: this.textOf(node) };
      case 'MemberExpression': {
        const property = node.getChild('PropertyName');
        return node.firstChild === null ? unknown : { kind: 'member', of: this.value(node.firstChild, depth + 1), name: property === null ? '[]' : this.textOf(property) };
      }
      case 'CallExpression': {
        const list = node.getChild('ArgList');
        return node.firstChild === null ? unknown : { kind: 'call', of: this.value(node.firstChild, depth + 1), args: list === null ? () => [] : this.lazyArguments(list) };
      }
      case 'AwaitExpression': case 'NamedExpression': case 'UnaryExpression': case 'YieldExpression': return this.lastValue(node, depth + 1);
      case 'ParenthesizedExpression': case 'BinaryExpression': case 'ConditionalExpression': case 'ArrayExpression': case 'TupleExpression': case 'ContinuedString':
        return { kind: 'either', parts: childrenOf(node).map((child) => this.value(child, depth + 1)).filter((value) => value.kind !== 'unknown') };
      case 'String': case 'FormatString': return { kind: 'text', text: this.textOf(node).replace(/^[a-zA-Z]*/, '') };
      default: return unknown;
    }
  }

  private lazyArguments(list: SyntaxNode): () => Value[] {
    return () => childrenOf(list).filter((child) => child.nextSibling?.name !== 'AssignOp').map((child) => this.value(child));
  }

  private positional(list: SyntaxNode): Value[] {
    return childrenOf(list).filter((child) => child.nextSibling?.name !== 'AssignOp' && child.prevSibling?.name !== 'AssignOp').map((child) => this.value(child));
  }
}

/** What `from module import *` is taken to bring in: the names detection asks for. */
const starNames = ['rollout', 'llm_rollout', 'prompt_rollout', 'LitAgent', 'OpenAI', 'AsyncOpenAI', 'Anthropic', 'AsyncAnthropic', 'Runner', 'Crew', 'completion', 'acompletion'];

const instanceOf = (of: Value): Value => ({ kind: 'call', of, args: () => [] });

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}
