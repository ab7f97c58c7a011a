import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { markOf, type AgentMark } from './rollout.ts';
import type { AgentContext } from './types.ts';

export interface LoadedAgent {
  name: string;
  mark: AgentMark | undefined;
  call(task: unknown, context: AgentContext): unknown;
}

/** The file has no such agent; the message lists what it has. */
export class AgentNotFound extends Error {}

/** Imports the file and picks the agent: the wrapped one, or any exported function when it is named. Throws AgentNotFound, or what the file throws. */
export async function loadAgent(file: string, name: string | null): Promise<LoadedAgent> {
  const module = exportsOf(await import(pathToFileURL(file).href) as Record<string, unknown>);
  const agents = agentsIn(module);
  const listing = [...agents.keys()].join(', ') || 'none';
  const example = `${basename(file)}:name`;
  if (name !== null) {
    const agent = agents.get(name) ?? plainFunction(module, name);
    if (!agent) throw new AgentNotFound(`${file} exports no function named "${name}" (agents in it: ${listing}).`);
    return agent;
  }
  const [first, ...others] = new Map([...agents.values()].map((agent) => [agent.mark, agent])).values();
  if (!first) throw new AgentNotFound(`${file} exports no agent: wrap it as "export const name = rollout(…)", or name a plain function as ${example}.`);
  if (others.length > 0) throw new AgentNotFound(`${file} has several agents (${listing}): choose one as ${example}.`);
  return first;
}

/** A CommonJS module has its exports in `default`; Node repeats only those whose names it can tell without running the file. */
function exportsOf(module: Record<string, unknown>): Record<string, unknown> {
  const whole = module['default'];
  if (typeof whole !== 'object' || whole === null) return module;
  const isSaid = (name: string): boolean => name === 'default' || name === 'module.exports' || (whole as Record<string, unknown>)[name] === module[name];
  return Object.keys(module).every(isSaid) ? { ...whole } : module;
}

function agentsIn(module: Record<string, unknown>): Map<string, LoadedAgent> {
  const agents = new Map<string, LoadedAgent>();
  for (const [name, value] of Object.entries(module)) {
    if (name === 'module.exports') continue; // the default under another name
    const mark = markOf(value);
    if (mark) agents.set(name, { name, mark, call: value as LoadedAgent['call'] });
    else if (typeof value === 'function') addMethods(agents, name, value as new () => object);
  }
  return agents;
}

/** Methods marked with @rollout: `Class.method`, and `Class` alone when it is the only one. */
function addMethods(agents: Map<string, LoadedAgent>, className: string, constructor: new () => object): void {
  const prototype: unknown = constructor.prototype;
  if (typeof prototype !== 'object' || prototype === null) return;
  const methods = Object.getOwnPropertyNames(prototype).filter((key) => markOf(Object.getOwnPropertyDescriptor(prototype, key)?.value));
  for (const key of methods) {
    const agent: LoadedAgent = {
      name: `${className}.${key}`,
      mark: markOf(Object.getOwnPropertyDescriptor(prototype, key)?.value),
      // A new instance for each attempt: attempts must not see each other's state.
      call: (task, context) => (new constructor() as Record<string, LoadedAgent['call']>)[key]!(task, context),
    };
    agents.set(agent.name, agent);
    if (methods.length === 1) agents.set(className, { ...agent, name: className });
  }
}

function plainFunction(module: Record<string, unknown>, name: string): LoadedAgent | undefined {
  const value = module[name];
  return typeof value === 'function' ? { name, mark: undefined, call: value as LoadedAgent['call'] } : undefined;
}
