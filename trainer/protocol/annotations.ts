import { z } from 'zod';
import { Outcome } from './rollout.ts';

/** Rollouts of an agent that annotations look at: its latest ones, over all runs. */
export const annotationWindow = 200;

/** What is known of an agent's rollouts, for the line above its source. Cancelled rollouts are left out. */
export const AgentAnnotation = z.object({
  /** path[:name], relative to the workspace, as its runs name it. */
  agent: z.string(),
  /** Ended rollouts of all runs. */
  rollouts: z.number().int(),
  last: z.object({ rollout_id: z.string(), run_id: z.string(), outcome: Outcome, reward: z.number().nullable(), end_time: z.number() }),
  /** Of the window: rewards of the scored rollouts, oldest first. */
  rewards: z.array(z.number()),
  /** Of the window: rollouts that ended without being scored. */
  without_reward: z.number().int(),
  /** Of the window, nearest rank; seconds. */
  p95_s: z.number().nullable(),
  /** Mean of the window per rollout; null: no call said. */
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
});
export type AgentAnnotation = z.infer<typeof AgentAnnotation>;

/** Values that one line of source emitted as reward, oldest first. Lines count from 1, paths are absolute. */
export const RewardLine = z.object({ file: z.string(), line: z.number().int(), agent: z.string(), rewards: z.array(z.number()) });
export type RewardLine = z.infer<typeof RewardLine>;

/** LLM calls made below one line of source in the latest run of its agent, some of which failed. */
export const FailedLine = z.object({
  file: z.string(), line: z.number().int(), agent: z.string(), calls: z.number().int(), failed: z.number().int(),
  /** Of the last failure. */
  message: z.string(), run_id: z.string(), rollout_id: z.string(),
});
export type FailedLine = z.infer<typeof FailedLine>;

export const Annotations = z.object({ agents: z.array(AgentAnnotation), reward_lines: z.array(RewardLine), failed_lines: z.array(FailedLine) });
export type Annotations = z.infer<typeof Annotations>;
