import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { parseInPieces } from './parse.ts';
import { emptyProgram, maxDepth, Scope, unknown } from './program.ts';
import type { Definition, Program, Span, Value } from './program.ts';

export interface Dialect { typescript: boolean; jsx: boolean }

interface Holder { name: string; at: Span }
interface Place {
  scope: Scope;
  definition: Definition | null;
  depth: number;
  /** The variable, property or export that an anonymous function here belongs to. */
  holder: Holder | null;
}

const startsOfStatements = /^(?:export |import |function |async function |class |const |let )/gm;
/** Stands for the object a CommonJS module exports where a name for its contents is put together. */
const moduleExports = 'module.exports';
const within = (holder: Holder, name: string): string => (holder.name === moduleExports ? name : `${holder.name}.${name}`);
const functions = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'MethodDeclaration']);

/** Reads a TypeScript or JavaScript source; never fails on text that does not parse. */
export function readScript(text: string, dialect: Dialect): Program {
  return new ScriptReader(text).read(dialect);
}

class ScriptReader {
  private readonly text: string;
  private program = emptyProgram('node');
  private sawError = false;

  constructor(text: string) {
    this.text = text;
  }

  read({ typescript, jsx }: Dialect): Program {
    const configured = parser.configure({ dialect: [typescript ? 'ts' : '', jsx ? 'jsx' : ''].join(' ').trim() });
    const tree = configured.parse(this.text);
    this.visitAll(tree.topNode, this.module());
    if (!this.sawError) return this.program;
    this.program = emptyProgram('node');
    for (const piece of parseInPieces(configured, this.text, tree, startsOfStatements)) this.visitAll(piece, this.module());
    return this.program;
  }

  private module(): Place { return { scope: this.program.root, definition: null, depth: 0, holder: null }; }
  private textOf(node: SyntaxNode): string { return this.text.slice(node.from, node.to); }

  private visitAll(node: SyntaxNode, place: Place): void {
    if (place.depth > maxDepth) return;
    const inside = { ...place, depth: place.depth + 1 };
    for (let child = node.firstChild; child !== null; child = child.nextSibling) this.visit(child, inside);
  }

  private visit(node: SyntaxNode, place: Place): void {
    if (node.type.isError) this.sawError = true;
    if (functions.has(node.name)) {
      this.readFunction(node, place);
      return;
    }
    switch (node.name) {
      case 'ImportDeclaration': this.readImport(node, place.scope); return;
      case 'ExportDeclaration': if (node.parent?.parent?.name !== 'NamespaceDeclaration') place = this.readExport(node); break;
      case 'ClassDeclaration': case 'ClassExpression': this.readClass(node, place); return;
      case 'VariableDeclaration': this.readVariables(node, place); return;
      case 'PropertyDeclaration': this.readField(node, place); return;
      case 'Property': {
        const name = node.getChild('PropertyDefinition');
        if (node.getChild('ParamList') !== null) {
          this.readFunction(node, place);
          return;
        }
        if (name !== null && place.holder !== null) place = { ...place, holder: { name: within(place.holder, this.textOf(name)), at: name } };
        break;
      }
      case 'AssignmentExpression': place = this.readAssignment(node, place); break;
      case 'ReturnStatement': if (place.definition?.kind === 'function') place.definition.returns.push(this.lastValue(node)); break;
      case 'NewExpression': case 'CallExpression': {
        const value = this.value(node);
        const callee = node.name === 'NewExpression' ? node.firstChild?.nextSibling : node.firstChild;
        if (value.kind === 'call' && callee != null) this.program.calls.push({ value, scope: place.scope, definition: place.definition, at: { from: callee.from, to: callee.to } });
        break;
      }
      case 'MemberExpression': {
        const property = node.getChild('PropertyName');
        if (property !== null && node.firstChild?.name === 'this') this.mention(`self.${this.textOf(property)}`, place);
        break;
      }
      case 'VariableName': this.mention(this.textOf(node), place); return;
    }
    this.visitAll(node, place);
  }

  private mention(name: string, place: Place): void {
    for (let at = place.definition; at !== null; at = at.parent) at.mentions.add(name);
  }

  private define(kind: Definition['kind'], node: SyntaxNode, name: Holder | null, place: Place, scope: Scope, decorators: Value[]): Definition {
    const definition: Definition = {
      kind, name: name?.name ?? null, at: name?.at ?? node, from: node.from, to: node.to, parent: place.definition, scope, decorators, bases: [], returns: [],
      mentions: new Set(), isStatic: node.getChild('static') !== null,
    };
    this.program.definitions.push(definition);
    return definition;
  }

  private readFunction(node: SyntaxNode, place: Place): void {
    const own = node.getChild('VariableDefinition') ?? node.getChild('PropertyDefinition');
    const inClass = node.name === 'MethodDeclaration' && place.definition?.kind === 'class' ? place.definition : null;
    const name = own === null ? place.holder : node.name === 'Property' && place.holder !== null ? { name: within(place.holder, this.textOf(own)), at: own }
      : node.name === 'FunctionExpression' && place.holder !== null ? place.holder : { name: this.textOf(own), at: own };
    const scope = new Scope(place.scope);
    const definition = this.define('function', node, name, place, scope, node.getChildren('Decorator').map((decorator) => this.lastValue(decorator)));
    if (own !== null && node.name === 'FunctionDeclaration') place.scope.bind(this.textOf(own), { kind: 'definition', definition }, own);
    if (own !== null && inClass !== null) inClass.scope.bind(this.textOf(own), { kind: 'definition', definition }, own);
    if (inClass !== null) scope.bind('this', { kind: 'self', of: inClass }, node);
    const parameters = node.getChild('ParamList');
    if (parameters !== null) this.readParameters(parameters, scope, inClass);
    const body = node.lastChild;
    if (node.name === 'ArrowFunction' && body !== null && body.name !== 'Block') definition.returns.push(this.value(body));
    const inside = { scope, definition, depth: place.depth, holder: null };
    for (let child = node.firstChild; child !== null; child = child.nextSibling) if (child !== own) this.visit(child, inside);
  }

  private readParameters(list: SyntaxNode, scope: Scope, inClass: Definition | null): void {
    let isProperty = false; // constructor(private readonly client: OpenAI)
    for (let child = list.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === ',') isProperty = false;
      if (child.name === 'Privacy' || child.name === 'readonly') isProperty = true;
      let next = child.nextSibling;
      if (next?.name === 'Optional') next = next.nextSibling;
      const type = next?.name === 'TypeAnnotation' ? next : null;
      const value = type !== null ? this.typed(type) : unknown;
      if (child.name === 'ObjectPattern' || child.name === 'ArrayPattern') this.bindPattern(child, value, scope, scope);
      if (child.name !== 'VariableDefinition') continue;
      scope.bind(this.textOf(child), value, child);
      if (isProperty && inClass !== null) inClass.scope.bind(this.textOf(child), value, child, scope);
    }
  }

  private readClass(node: SyntaxNode, place: Place): void {
    const own = node.getChild('VariableDefinition');
    const definition = this.define('class', node, own === null ? place.holder : { name: this.textOf(own), at: own }, place, new Scope(place.scope), []);
    definition.scope.bind('this', { kind: 'self', of: definition }, node);
    if (own !== null) place.scope.bind(this.textOf(own), { kind: 'definition', definition }, own);
    const base = node.getChild('extends')?.nextSibling ?? null;
    if (base !== null) definition.bases = [this.value(base)];
    const inside = { scope: definition.scope, definition, depth: place.depth, holder: null };
    for (let child = node.firstChild; child !== null; child = child.nextSibling) if (child !== own) this.visit(child, inside);
  }

  private readField(node: SyntaxNode, place: Place): void {
    const name = node.getChild('PropertyDefinition') ?? node.getChild('PrivatePropertyDefinition');
    const type = node.getChild('TypeAnnotation');
    const initial = node.getChild('Equals')?.nextSibling ?? null;
    const holder = name === null ? null : { name: this.textOf(name), at: name };
    if (name !== null) {
      const parts = [...(initial === null ? [] : [this.value(initial)]), ...(type === null ? [] : [this.typed(type)])];
      place.scope.bind(this.textOf(name), { kind: 'either', parts }, name);
    }
    if (initial !== null) this.visit(initial, { ...place, holder });
  }

  private readVariables(node: SyntaxNode, place: Place): void {
    let target: SyntaxNode | null = null;
    let type: SyntaxNode | null = null;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === 'VariableDefinition' || child.name === 'ObjectPattern' || child.name === 'ArrayPattern') {
        target = child;
        type = child.nextSibling?.name === 'TypeAnnotation' ? child.nextSibling : null;
        if (child.name !== 'VariableDefinition') continue;
        // Bound even without a value: it hides what an outer scope calls so.
        if ((type ?? child).nextSibling?.name !== 'Equals') place.scope.bind(this.textOf(child), type === null ? unknown : this.typed(type), child);
      } else if (child.name === 'Equals' && target !== null && child.nextSibling !== null) {
        const initial: SyntaxNode = child.nextSibling;
        const value = this.value(initial);
        const holder = target.name === 'VariableDefinition' ? { name: this.textOf(target), at: target } : null;
        if (target.name === 'VariableDefinition') {
          const found: Value = functions.has(initial.name) ? this.functionValue(initial, place, holder) : value;
          place.scope.bind(this.textOf(target), type === null ? found : { kind: 'either', parts: [found, this.typed(type)] }, target);
          if (found !== value) {
            child = initial;
            continue;
          }
        } else this.bindPattern(target, value, place.scope, place.scope);
        this.visit(initial, { ...place, holder });
        child = initial;
      } else if (child.name !== 'const' && child.name !== 'let' && child.name !== 'var') this.visit(child, place);
    }
  }

  /** Reads a function at once and returns it, so that what calls it can be followed into it. */
  private functionValue(node: SyntaxNode, place: Place, holder: Holder | null): Value {
    const before = this.program.definitions.length;
    this.readFunction(node, { ...place, holder });
    const definition = this.program.definitions[before];
    return definition === undefined ? unknown : { kind: 'definition', definition };
  }

  private bindPattern(pattern: SyntaxNode, value: Value, scope: Scope, valueScope: Scope): void {
    for (const property of pattern.getChildren('PatternProperty')) {
      const key = property.getChild('PropertyName');
      const local = property.getChild('VariableDefinition');
      if (local === null) continue;
      const name = this.textOf(key ?? local);
      scope.bind(this.textOf(local), value.kind === 'unknown' ? unknown : { kind: 'member', of: value, name }, local, valueScope);
    }
    for (const element of pattern.getChildren('VariableDefinition')) scope.bind(this.textOf(element), unknown, element);
  }

  /** `this.client = …`, `x = …`, and the exports of CommonJS. Returns where the value is read. */
  private readAssignment(node: SyntaxNode, place: Place): Place {
    const target = node.firstChild;
    const given = node.lastChild;
    if (target === null || given === null) return place;
    const value = this.value(given);
    if (target.name === 'VariableName') (place.scope.lookUp(this.textOf(target)) === undefined ? this.program.root : place.scope).bind(this.textOf(target), value, target);
    const property = target.name === 'MemberExpression' ? target.getChild('PropertyName') : null;
    if (property === null) return place;
    const self = target.firstChild?.name === 'this' ? place.scope.lookUp('this')?.[0]?.value : undefined;
    if (self?.kind === 'self') self.of.scope.bind(this.textOf(property), value, property, place.scope);
    if (place.definition !== null) return place;
    if (/^module\s*\.\s*exports$/.test(this.textOf(target))) return { ...place, holder: this.readModuleExports(given, value, property) };
    if (!/^(module\s*\.\s*)?exports\s*\./.test(this.textOf(target))) return place;
    this.program.exports.push({ name: this.textOf(property), value, at: property });
    return { ...place, holder: { name: this.textOf(property), at: property } };
  }

  /** `module.exports = { name, other: value }`, or one value as the default. Returns what holds the functions in it. */
  private readModuleExports(given: SyntaxNode, value: Value, at: Span): Holder {
    const { exports, root } = this.program;
    const boundAt = (node: SyntaxNode): Span | undefined => root.lookUp(this.textOf(node))?.[0]?.at;
    if (given.name !== 'ObjectExpression') {
      exports.push({ name: 'default', value, at: (given.name === 'VariableName' ? boundAt(given) : undefined) ?? at });
      return { name: 'default', at };
    }
    for (const property of given.getChildren('Property')) {
      const key = property.getChild('PropertyDefinition');
      const last = property.lastChild;
      if (key === null || last === null || property.getChild('ParamList') !== null) continue;
      const isShorthand = last.from === key.from;
      exports.push({ name: this.textOf(key), value: isShorthand ? { kind: 'name', name: this.textOf(key) } : this.value(last), at: (isShorthand || last.name === 'VariableName' ? boundAt(last) : undefined) ?? key });
    }
    return { name: moduleExports, at };
  }

  private readImport(node: SyntaxNode, scope: Scope): void {
    const source = node.getChild('String');
    if (source === null || node.getChild('⚠') !== null || node.getChild('ImportGroup')?.getChild('⚠') != null) this.sawError = true;
    if (source === null) return;
    const module = this.textOf(source).slice(1, -1);
    this.program.imports.add(module);
    const whole = node.getChild('VariableDefinition');
    if (whole !== null) scope.bind(this.textOf(whole), { kind: 'import', path: node.getChild('Star') !== null ? `${module}:` : `${module}:default` }, whole);
    const group = node.getChild('ImportGroup');
    for (let child = group?.firstChild ?? null; child !== null; child = child.nextSibling) {
      if (child.name !== 'VariableDefinition') continue;
      const original = child.prevSibling?.name === 'as' ? child.prevSibling.prevSibling ?? child : child; // original as alias
      scope.bind(this.textOf(child), { kind: 'import', path: `${module}:${this.textOf(original)}` }, child);
    }
  }

  /** An export is the module's, also when a brace that is missing above it says otherwise. Returns where its declaration is read. */
  private readExport(node: SyntaxNode): Place {
    const { exports, root } = this.program;
    const place = this.module();
    for (const name of node.getChild('VariableDeclaration')?.getChildren('VariableDefinition') ?? []) exports.push({ name: this.textOf(name), value: { kind: 'name', name: this.textOf(name) }, at: name });
    const declared = (node.getChild('ClassDeclaration') ?? node.getChild('FunctionDeclaration'))?.getChild('VariableDefinition') ?? null;
    const group = node.getChild('ExportGroup');
    for (let child = group?.firstChild ?? null; child !== null; child = child.nextSibling) {
      if (child.name !== 'VariableName' || child.prevSibling?.name === 'as') continue;
      const alias = child.nextSibling?.name === 'as' ? child.nextSibling.nextSibling ?? child : child;
      exports.push({ name: this.textOf(alias), value: { kind: 'name', name: this.textOf(child) }, at: root.lookUp(this.textOf(child))?.[0]?.at ?? child });
    }
    const isDefault = node.getChild('default');
    if (isDefault === null) {
      if (declared !== null) exports.push({ name: this.textOf(declared), value: { kind: 'name', name: this.textOf(declared) }, at: declared });
      return place;
    }
    const value = isDefault.nextSibling;
    if (value === null) return place;
    const bound = value.name === 'VariableName' ? root.lookUp(this.textOf(value))?.[0]?.at : undefined;
    const callee = value.name === 'CallExpression' ? value.firstChild : null;
    exports.push({ name: 'default', value: declared === null ? this.value(value) : { kind: 'name', name: this.textOf(declared) }, at: bound ?? declared ?? callee ?? value });
    return { ...place, holder: { name: 'default', at: declared ?? isDefault } };
  }

  /** An instance of one of the types an annotation names. */
  private typed(annotation: SyntaxNode): Value {
    const parts: Value[] = [];
    const collect = (node: SyntaxNode): void => {
      if (node.name === 'TypeName' || node.name === 'IndexedType') {
        const [first = '', ...rest] = this.textOf(node).split(/\s*\.\s*/);
        parts.push({ kind: 'call', of: rest.reduce<Value>((of, name) => ({ kind: 'member', of, name }), { kind: 'name', name: first }), args: () => [] });
      } else if (node.name !== 'FunctionSignature' && node.name !== 'ObjectType') for (let child = node.firstChild; child !== null; child = child.nextSibling) collect(child);
    };
    collect(annotation);
    return { kind: 'either', parts };
  }

  private lastValue(node: SyntaxNode, depth = 0): Value {
    let last = node.lastChild;
    if (last?.name === ';') last = last.prevSibling;
    return last === null ? unknown : this.value(last, depth);
  }

  private value(node: SyntaxNode, depth = 0): Value {
    if (depth > maxDepth) return unknown;
    switch (node.name) {
      case 'VariableName': case 'VariableDefinition': return { kind: 'name', name: this.textOf(node) };
      case 'this': return { kind: 'name', name: 'this' };
      case 'MemberExpression': {
        const property = node.getChild('PropertyName') ?? node.getChild('PrivatePropertyName');
        return node.firstChild === null ? unknown : { kind: 'member', of: this.value(node.firstChild, depth + 1), name: property === null ? '[]' : this.textOf(property) };
      }
      case 'InstantiationExpression': case 'PostfixExpression': return node.firstChild === null ? unknown : this.value(node.firstChild, depth + 1);
      case 'NewExpression': case 'CallExpression': {
        const callee = node.name === 'NewExpression' ? node.firstChild?.nextSibling : node.firstChild;
        const list = node.getChild('ArgList');
        if (callee == null) return unknown;
        if (callee.name === 'VariableName' && this.textOf(callee) === 'require') return this.module_(list?.getChild('String') ?? null);
        return { kind: 'call', of: this.value(callee, depth + 1), args: list === null ? () => [] : () => childrenOf(list).map((child) => this.value(child, depth + 1)) };
      }
      case 'DynamicImport': return this.module_(node.getChild('String'));
      case 'AwaitExpression': case 'UnaryExpression': case 'AssignmentExpression': case 'YieldExpression': return this.lastValue(node, depth + 1);
      case 'ParenthesizedExpression': case 'BinaryExpression': case 'ConditionalExpression': case 'ArrayExpression':
        return { kind: 'either', parts: childrenOf(node).map((child) => this.value(child, depth + 1)).filter((value) => value.kind !== 'unknown') };
      case 'String': case 'TemplateString': return { kind: 'text', text: this.textOf(node) };
      default: return unknown;
    }
  }

  /** A whole module, by `require` or `import()`. */
  private module_(source: SyntaxNode | null): Value {
    if (source === null) return unknown;
    const name = this.textOf(source).slice(1, -1);
    this.program.imports.add(name);
    return { kind: 'import', path: `${name}:` };
  }
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}
