/**
 * What an agent author imports (`agent-trainer/runtime`). Outside the trainer every name here is harmless: a wrapped agent is
 * an ordinary function, operations run their body, and the emitters do nothing.
 */
export { emitMessage, emitReward } from './emit.ts';
export { operation } from './operation.ts';
export { rollout } from './rollout.ts';
export type { AgentContext, LLM, ReasonedReward, Resource, Reward, RolloutInfo } from './types.ts';
