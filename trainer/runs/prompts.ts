import type { Prompt } from '../protocol/prompts.ts';
import type { AgentSpec } from '../runner/agent-spec.ts';

/** The prompts of the workspace that reach an agent. */
export function promptsOf(_agent: AgentSpec, _workspace: string): Prompt[] {
  return [];
}
