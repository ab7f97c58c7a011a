import type { Scope, Value } from './program.ts';

const maxSteps = 14;
const maxAlternatives = 8;

/**
 * What a value can be, as paths from the module it comes from: `openai.OpenAI().chat.completions.create` for a method of an
 * instance, wherever and under whatever name it was imported and made. A path whose beginning is not known starts with `?`,
 * one of a name that nothing in the file binds with `global.`, one of a class of the file that extends nothing known with `local.`.
 */
export function resolve(value: Value, scope: Scope, steps = maxSteps): string[] {
  return [...new Set(alternatives(value, scope, steps))].slice(0, maxAlternatives);
}

function alternatives(value: Value, scope: Scope, steps: number): string[] {
  if (steps === 0) return ['?'];
  switch (value.kind) {
    case 'import': return [value.path];
    case 'either': return value.parts.flatMap((part) => resolve(part, scope, steps - 1));
    case 'name': return named(value.name, scope, steps);
    case 'member': return member(value, scope, steps);
    case 'call': return called(value, scope, steps);
    case 'self': return value.of.bases.flatMap((base) => resolve(base, value.of.scope.parent ?? scope, steps - 1)).map((path) => `${path}()`);
    case 'definition': {
      const { bases, kind, name, scope: inner } = value.definition;
      const inherited = bases.flatMap((base) => resolve(base, inner.parent ?? scope, steps - 1));
      return inherited.length > 0 ? inherited : [`${kind === 'class' ? 'local.' : '?'}${name ?? ''}`];
    }
    default: return [];
  }
}

function named(name: string, scope: Scope, steps: number): string[] {
  const bindings = scope.lookUp(name);
  if (bindings === undefined) return [`global.${name}`];
  const paths = bindings.flatMap((binding) => resolve(binding.value, binding.scope, steps - 1));
  return paths.length > 0 ? paths : [`?${name}`];
}

function member(value: Value & { kind: 'member' }, scope: Scope, steps: number): string[] {
  const self = selfOf(value.of, scope);
  const attribute = self?.of.scope.own(value.name);
  if (attribute !== undefined) {
    const paths = attribute.flatMap((binding) => resolve(binding.value, binding.scope, steps - 1));
    return paths.length > 0 ? paths : [`?self.${value.name}`];
  }
  const owners = resolve(value.of, scope, steps - 1);
  return (owners.length > 0 ? owners : ['?']).map((owner) => (owner.endsWith(':') ? owner + value.name : `${owner}.${value.name}`));
}

function selfOf(value: Value, scope: Scope): (Value & { kind: 'self' }) | null {
  if (value.kind === 'self') return value;
  const bound = value.kind === 'name' ? scope.lookUp(value.name)?.[0]?.value : undefined;
  return bound?.kind === 'self' ? bound : null;
}

function called(value: Value & { kind: 'call' }, scope: Scope, steps: number): string[] {
  const made = definitionOf(value.of, scope);
  if (made?.kind === 'function' && made.returns.length > 0) {
    const results = made.returns.flatMap((result) => resolve(result, made.scope, steps - 1));
    if (results.length > 0) return results;
  }
  // What is piped together is one value, of which any part may be the model.
  if (value.of.kind === 'member' && value.of.name === 'pipe') return [value.of.of, ...value.args()].flatMap((part) => resolve(part, scope, steps - 1));
  return resolve(value.of, scope, steps - 1).map((path) => `${path}()`);
}

function definitionOf(value: Value, scope: Scope) {
  const bound = value.kind === 'name' ? scope.lookUp(value.name)?.[0]?.value
    : value.kind === 'member' ? selfOf(value.of, scope)?.of.scope.own(value.name)?.[0]?.value : undefined;
  return bound?.kind === 'definition' ? bound.definition : undefined;
}

/** The string literals a value is put together from. */
export function textsOf(value: Value, scope: Scope, steps = maxSteps): string[] {
  if (steps === 0) return [];
  switch (value.kind) {
    case 'text': return [value.text];
    case 'either': return value.parts.flatMap((part) => textsOf(part, scope, steps - 1));
    case 'name': return (scope.lookUp(value.name) ?? []).flatMap((binding) => textsOf(binding.value, binding.scope, steps - 1));
    case 'member': {
      const attribute = selfOf(value.of, scope)?.of.scope.own(value.name);
      return (attribute ?? []).flatMap((binding) => textsOf(binding.value, binding.scope, steps - 1));
    }
    case 'call': {
      const receiver = value.of.kind === 'member' ? textsOf(value.of.of, scope, steps - 1) : [];
      return [...receiver, ...value.args().flatMap((argument) => textsOf(argument, scope, steps - 1))];
    }
    default: return [];
  }
}
