import { outermost, qualifiedName, written } from './program.ts';
import type { Definition, Program, Span, Value } from './program.ts';
import { resolve } from './resolve.ts';

const wrapperCall = /^(agent_trainer|agentlightning)\.(\w+\.)*(rollout|llm_rollout|prompt_rollout)(\(\))*$|^agent-trainer(\/runtime)?:(\w+\.)*rollout(\(\))*$/;
/** A base of that name, whoever wrote it: the runtime looks at the name alone. */
const agentClass = /(^|[.?])LitAgent(\.\[\])?$/;

export interface Wrapped { name: string; at: Span; by: 'decorator' | 'call' | 'base'; wrapper: string; library: 'Agent Trainer' | 'Agent Lightning'; definition: Definition | null }

/** The agents of a module that are already wrapped: what can be run and trained by `path:name`. */
export function wrappedAgents(program: Program): Wrapped[] {
  const found = program.language === 'python' ? wrappedInPython(program) : wrappedInScript(program);
  return found.sort((a, b) => a.at.from - b.at.from);
}

function wrappedInPython(program: Program): Wrapped[] {
  return program.definitions.flatMap((definition): Wrapped[] => {
    if (definition.parent !== null || definition.name === null) return [];
    const { name, at } = definition;
    if (definition.kind === 'class') {
      const base = definition.bases.find((value) => resolve(value, program.root).some((path) => agentClass.test(path)));
      return base === undefined ? [] : [{ name, at, by: 'base', wrapper: written(base), library: libraryOf(base, program), definition }];
    }
    const decorator = decoratorOf(program, definition);
    return decorator === undefined ? [] : [{ name, at, by: 'decorator', wrapper: `@${written(calleeOf(decorator))}`, library: libraryOf(decorator, program), definition }];
  });
}

function wrappedInScript(program: Program): Wrapped[] {
  const found: Wrapped[] = [];
  for (const { name, value, at } of program.exports) {
    const made = followed(value, program);
    if (made?.kind === 'call' && isWrapper(made.of, program)) {
      const definition = program.definitions.find((candidate) => candidate.parent === null && (candidate.at.from === at.from || candidate.name === name)) ?? null;
      found.push({ name, at, by: 'call', wrapper: `${written(calleeOf(made))}(…)`, library: 'Agent Trainer', definition });
    }
    if (made?.kind !== 'definition' || made.definition.kind !== 'class') continue;
    for (const method of program.definitions) {
      // A worker makes an instance for each attempt: static methods are no agents.
      const decorator = method.parent === made.definition && !method.isStatic ? decoratorOf(program, method) : undefined;
      if (decorator !== undefined) found.push({ name: `${name}.${method.name ?? ''}`, at: method.at, by: 'decorator', wrapper: `@${written(calleeOf(decorator))}`, library: 'Agent Trainer', definition: method });
    }
  }
  return found;
}

function followed(value: Value, program: Program, steps = 8): Value | undefined {
  if (value.kind === 'either') return value.parts[0] === undefined ? undefined : followed(value.parts[0], program, steps);
  if (value.kind !== 'name' || steps === 0) return value;
  const bound = program.root.lookUp(value.name)?.[0]?.value;
  return bound === undefined ? undefined : followed(bound, program, steps - 1);
}

function decoratorOf(program: Program, definition: Definition): Value | undefined {
  return definition.decorators.find((decorator) => isWrapper(decorator, program));
}

function isWrapper(value: Value, program: Program): boolean {
  return resolve(value, program.root).some((path) => wrapperCall.test(path));
}

function libraryOf(wrapper: Value, program: Program): Wrapped['library'] {
  return resolve(wrapper, program.root).some((path) => path.startsWith('agent_trainer')) ? 'Agent Trainer' : 'Agent Lightning';
}

function calleeOf(value: Value): Value {
  return value.kind === 'call' ? calleeOf(value.of) : value;
}

/** The functions of the module that run when one of `starts` runs, as far as names tell. */
export function reachedFrom(program: Program, starts: Definition[]): Set<Definition> {
  const byName = new Map<string, Definition[]>();
  for (const definition of program.definitions) {
    const isMethod = definition.parent?.kind === 'class' && definition.parent.parent === null;
    if ((definition.parent === null || isMethod) && definition.name !== null) {
      const key = isMethod ? `self.${definition.name}` : definition.name;
      byName.set(key, [...(byName.get(key) ?? []), definition]);
    }
  }
  const reached = new Set<Definition>();
  const open = [...starts];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    for (const name of next.mentions) open.push(...(byName.get(name) ?? []));
    if (next.kind === 'class') open.push(...program.definitions.filter((definition) => definition.parent === next));
  }
  return reached;
}

/** Where a call belongs, by the name an agent would have; null for code of the module itself and anonymous callbacks. */
export function ownerOf(definition: Definition | null): { name: string; definition: Definition } | null {
  const owner = outermost(definition);
  const name = owner === null ? null : qualifiedName(owner);
  return owner === null || name === null ? null : { name, definition: owner };
}
