import { callSite } from './call-site.ts';
import type { AgentContext, Reward } from './types.ts';

/** An agent: does one task. */
type Agent = (this: never, task: never, context: never) => Reward | Promise<Reward>;

/** Accepts an agent whose context parameter needs no more than the trainer gives. */
type Fitting<F extends Agent> = F extends (task: never, context: infer C) => unknown ? (AgentContext extends C ? F : never) : F;

export interface AgentMark { code: Record<string, string | number> }

// Registered symbol: the agent and the worker may hold two copies of this module.
const mark = Symbol.for('agent-trainer.rollout');

/**
 * Marks an agent: `export const myAgent = rollout(async (task, { llm }) => reward)`, or `@rollout` on a method of an exported class
 * that can be constructed without arguments. The function itself is returned unchanged.
 */
export function rollout<F extends Agent>(agent: F & Fitting<F>, context?: ClassMethodDecoratorContext): F {
  if (typeof agent !== 'function' || (context !== undefined && context?.kind !== 'method')) {
    throw new TypeError('rollout marks a function, or as @rollout a method with standard decorators (remove "experimentalDecorators" from tsconfig.json).');
  }
  Object.defineProperty(agent, mark, { value: { code: callSite(rollout) } satisfies AgentMark, configurable: true });
  return agent;
}

/** The mark of a wrapped agent; undefined for anything else. */
export function markOf(value: unknown): AgentMark | undefined {
  return typeof value === 'function' ? (value as { [mark]?: AgentMark })[mark] : undefined;
}
