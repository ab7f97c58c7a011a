import type { Binding, Scope, Value } from './program.ts';

const maxAlternatives = 8;
const maxNames = 200;

/** Which bindings are being followed: one that leads back to itself says nothing more. Code that says too much at once is given up. */
class Trail {
  private readonly open = new Set<Binding>();
  private left = maxNames;

  follow<T>(bindings: Binding[], read: (binding: Binding) => T[]): T[] {
    return bindings.flatMap((binding) => {
      if (this.open.has(binding) || this.left-- <= 0) return [];
      this.open.add(binding);
      const found = read(binding);
      this.open.delete(binding);
      return found;
    });
  }
}

/**
 * What a value can be, as paths from the module it comes from: `openai.OpenAI().chat.completions.create` for a method of an
 * instance, wherever and under whatever name it was imported and made. A path whose beginning is not known starts with `?`,
 * one of a name that nothing in the file binds with `global.`, one of a class of the file that extends nothing known with `local.`.
 */
export function resolve(value: Value, scope: Scope, trail = new Trail()): string[] {
  return [...new Set(alternatives(value, scope, trail))].slice(0, maxAlternatives);
}

function alternatives(value: Value, scope: Scope, trail: Trail): string[] {
  switch (value.kind) {
    case 'import': return [value.path];
    case 'either': return value.parts.flatMap((part) => resolve(part, scope, trail));
    case 'name': return named(value.name, scope, trail);
    case 'member': return member(value, scope, trail);
    case 'call': return called(value, scope, trail);
    case 'self': return value.of.bases.flatMap((base) => resolve(base, value.of.scope.parent ?? scope, trail)).map((path) => `${path}()`);
    case 'definition': {
      const { bases, kind, name, scope: inner } = value.definition;
      const inherited = bases.flatMap((base) => resolve(base, inner.parent ?? scope, trail));
      return inherited.length > 0 ? inherited : [`${kind === 'class' ? 'local.' : '?'}${name ?? ''}`];
    }
    default: return [];
  }
}

function named(name: string, scope: Scope, trail: Trail): string[] {
  const bindings = scope.lookUp(name);
  if (bindings === undefined) return [`global.${name}`];
  const paths = trail.follow(bindings, (binding) => resolve(binding.value, binding.scope, trail));
  return paths.length > 0 ? paths : [`?${name}`];
}

function member(value: Value & { kind: 'member' }, scope: Scope, trail: Trail): string[] {
  const self = selfOf(value.of, scope);
  const attribute = self?.of.scope.own(value.name);
  if (attribute !== undefined) {
    const paths = trail.follow(attribute, (binding) => resolve(binding.value, binding.scope, trail));
    return paths.length > 0 ? paths : [`?self.${value.name}`];
  }
  const owners = resolve(value.of, scope, trail);
  return (owners.length > 0 ? owners : ['?']).map((owner) => (owner.endsWith(':') ? owner + value.name : `${owner}.${value.name}`));
}

function selfOf(value: Value, scope: Scope): (Value & { kind: 'self' }) | null {
  if (value.kind === 'self') return value;
  const bound = value.kind === 'name' ? scope.lookUp(value.name)?.[0]?.value : undefined;
  return bound?.kind === 'self' ? bound : null;
}

function called(value: Value & { kind: 'call' }, scope: Scope, trail: Trail): string[] {
  const results = trail.follow(functionsOf(value.of, scope), ({ value: made }) => (made.kind === 'definition' ? made.definition.returns.flatMap((result) => resolve(result, made.definition.scope, trail)) : []));
  if (results.length > 0) return results;
  // What is piped together is one value, of which any part may be the model.
  if (value.of.kind === 'member' && value.of.name === 'pipe') return [value.of.of, ...value.args()].flatMap((part) => resolve(part, scope, trail));
  return resolve(value.of, scope, trail).map((path) => `${path}()`);
}

/** The functions and methods of this file that a callee can be. */
function functionsOf(value: Value, scope: Scope): Binding[] {
  const bindings = value.kind === 'name' ? scope.lookUp(value.name) : value.kind === 'member' ? selfOf(value.of, scope)?.of.scope.own(value.name) : undefined;
  return (bindings ?? []).filter((binding) => binding.value.kind === 'definition' && binding.value.definition.kind === 'function');
}

/** The string literals a value is put together from. */
export function textsOf(value: Value, scope: Scope, trail = new Trail()): string[] {
  switch (value.kind) {
    case 'text': return [value.text];
    case 'either': return value.parts.flatMap((part) => textsOf(part, scope, trail));
    case 'name': return trail.follow(scope.lookUp(value.name) ?? [], (binding) => textsOf(binding.value, binding.scope, trail));
    case 'member': {
      const attribute = selfOf(value.of, scope)?.of.scope.own(value.name);
      return trail.follow(attribute ?? [], (binding) => textsOf(binding.value, binding.scope, trail));
    }
    case 'call': {
      const receiver = value.of.kind === 'member' ? textsOf(value.of.of, scope, trail) : [];
      return [...receiver, ...value.args().flatMap((argument) => textsOf(argument, scope, trail))];
    }
    default: return [];
  }
}
