import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Expr, Rule } from './expressions.ts';
import { formats } from './formats.ts';
import { JsonText } from './json-text.ts';
import { readKeywords, requireAlone, schemaError, type Keywords, type Type } from './keywords.ts';
import { integer, number } from './numbers.ts';
import { pattern } from './pattern.ts';
import { exclusive } from './exclusive.ts';
import { unproductive } from './productive.ts';

const allTypes: readonly Type[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];
const maxDepth = 100;

/**
 * The JSON documents that a schema (JSON Schema 2020-12) allows. Members come in the order of `properties`.
 * Throws TrainerError `bad_input` that names the place and the keyword when a keyword is not supported, or nothing satisfies the schema.
 */
export function schemaDocuments(json: JsonText, schema: unknown): Expr {
  const first = new SchemaReader(json, schema, new Set());
  const start = first.document();
  const dead = unproductive(first.rules);
  // Rules that never come to an end are left out, so that nothing begins that cannot be completed.
  const whole = dead.size === 0 ? start : new SchemaReader(json, schema, dead).document();
  if (whole === json.algebra.none) throw schemaError('#', 'no finite JSON document satisfies the schema');
  return whole;
}

class SchemaReader {
  readonly rules = new Map<string, Rule>();
  readonly #json: JsonText;
  readonly #root: unknown;
  readonly #dead: ReadonlySet<string>;
  readonly #unread: { rule: Rule; schema: unknown; path: string }[] = [];

  constructor(json: JsonText, root: unknown, dead: ReadonlySet<string>) {
    this.#json = json;
    this.#root = root;
    this.#dead = dead;
  }

  document(): Expr {
    const start = this.#read(this.#root, '#', 0);
    for (let next = this.#unread.pop(); next; next = this.#unread.pop()) next.rule.body = this.#read(next.schema, next.path, 0);
    return start;
  }

  #read(schema: unknown, path: string, depth: number): Expr {
    const { algebra } = this.#json;
    if (depth > maxDepth) throw schemaError(path, `the schema is nested more than ${maxDepth} deep`);
    if (schema === true) return this.#json.any();
    if (schema === false) return algebra.none;
    const keywords = readKeywords(schema, path);
    const inner = (schemas: readonly unknown[], name: string) => schemas.map((one, i) => this.#read(one, `${path}/${name}/${i}`, depth + 1));
    if (keywords.$ref !== undefined) {
      requireAlone(keywords, '$ref', path);
      return this.#reference(keywords.$ref, path);
    }
    if ('const' in keywords || keywords.enum) return this.#values(keywords, path);
    if (keywords.anyOf) {
      requireAlone(keywords, 'anyOf', path);
      return algebra.either(...inner(keywords.anyOf, 'anyOf'));
    }
    if (keywords.oneOf) {
      requireAlone(keywords, 'oneOf', path);
      if (!exclusive(keywords.oneOf, (ref) => this.#resolve(ref, path))) throw schemaError(path, 'the schemas of "oneOf" may overlap: give them different types, or a required property with a different const or enum in each, or use "anyOf"');
      return algebra.either(...inner(keywords.oneOf, 'oneOf'));
    }
    if (keywords.allOf) {
      requireAlone(keywords, 'allOf', path);
      return inner(keywords.allOf, 'allOf')[0] as Expr;
    }
    return algebra.either(...typesOf(keywords).map((type) => this.#typed(type, keywords, path, depth)));
  }

  #typed(type: Type, keywords: Keywords, path: string, depth: number): Expr {
    const json = this.#json;
    const { algebra } = json;
    switch (type) {
      case 'null': return algebra.text('null');
      case 'boolean': return algebra.either(algebra.text('true'), algebra.text('false'));
      case 'integer': return integer(algebra, boundsOf(keywords), keywords.multipleOf);
      case 'number': return keywords.multipleOf === undefined ? number(algebra, boundsOf(keywords)) : integer(algebra, boundsOf(keywords), keywords.multipleOf);
      case 'string': return this.#string(keywords, path);
      case 'array': {
        const { items = true, prefixItems = [], minItems, maxItems } = keywords;
        const first = prefixItems.map((item, i) => this.#read(item, `${path}/prefixItems/${i}`, depth + 1));
        return json.array(first, this.#read(items, `${path}/items`, depth + 1), minItems, maxItems);
      }
      case 'object': {
        const { properties = {}, required = [], additionalProperties = true } = keywords;
        const additional = this.#read(additionalProperties, `${path}/additionalProperties`, depth + 1);
        const members = Object.entries(properties).map(([name, value]) => ({ name, value: this.#read(value, `${path}/properties/${escaped(name)}`, depth + 1), required: required.includes(name) }));
        const others = [...new Set(required)].filter((name) => !Object.hasOwn(properties, name)).map((name) => ({ name, value: additional, required: true }));
        return json.object([...members, ...others], additional);
      }
    }
  }

  #string({ minLength = 0, maxLength = Infinity, pattern: source, format }: Keywords, path: string): Expr {
    const json = this.#json;
    const { algebra } = json;
    const like = (keyword: string, expression: string) => {
      try {
        return pattern(algebra, expression);
      } catch (error) {
        throw schemaError(path, `"${keyword}" is not usable: ${messageOf(error)}`);
      }
    };
    const insides: Expr[] = [];
    if (format !== undefined) {
      const known = formats.get(format);
      if (known === undefined) throw schemaError(path, `the format "${format}" is not supported; ${[...formats.keys()].join(', ')} are`);
      insides.push(like('format', known));
    }
    if (source !== undefined) insides.push(like('pattern', source));
    if (insides.length === 0) return json.string(minLength, maxLength);
    if (minLength > maxLength) return algebra.none;
    try {
      return json.stringLike(algebra.repeat(json.character, minLength, maxLength), ...insides);
    } catch (error) {
      if (!(error instanceof TrainerError)) throw error;
      throw schemaError(path, `"${source === undefined ? 'format' : 'pattern'}" is not usable: ${error.message}`);
    }
  }

  /** `const` and `enum`: the values that are of the type. */
  #values(keywords: Keywords, path: string): Expr {
    const form = 'const' in keywords ? 'const' : 'enum';
    requireAlone(keywords, form, path, ['type']);
    const values = 'const' in keywords ? [keywords.const] : keywords.enum ?? [];
    const types = keywords.type === undefined ? null : typesOf(keywords);
    return this.#json.algebra.either(...values.filter((value) => types?.some((type) => isOf(type, value)) ?? true).map((value) => this.#json.literal(value)));
  }

  #reference(ref: string, path: string): Expr {
    const { algebra } = this.#json;
    const schema = this.#resolve(ref, path);
    if (this.#dead.has(ref)) return algebra.none;
    let rule = this.rules.get(ref);
    if (!rule) {
      this.rules.set(ref, rule = { body: null });
      this.#unread.push({ rule, schema, path: ref });
    }
    return algebra.rule(rule);
  }

  #resolve(ref: string, path: string): unknown {
    if (ref !== '#' && !ref.startsWith('#/')) throw schemaError(path, `"$ref" is "${ref}", and only places in the same schema are supported, such as "#/$defs/name"`);
    let found: unknown = this.#root;
    for (const part of ref.split('/').slice(1)) {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) throw schemaError(path, `"$ref" is "${ref}", and there is no such place in the schema`);
      found = (found as Record<string, unknown>)[name];
    }
    return found;
  }
}

function typesOf({ type }: Keywords): readonly Type[] { return type === undefined ? allTypes : typeof type === 'string' ? [type] : type; }

function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Keywords) { return { minimum, maximum, exclusiveMinimum, exclusiveMaximum }; }

function isOf(type: Type, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

function escaped(name: string): string { return name.replaceAll('~', '~0').replaceAll('/', '~1'); }

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
