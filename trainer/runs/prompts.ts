import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { findPrompts } from '../prompts/find-prompts.ts';
import type { AgentSpec } from '../runner/agent-spec.ts';

/** The prompts of the workspace that reach an agent. */
export function promptsOf(agent: AgentSpec, workspace: string): Prompt[] {
  return findPrompts(workspace, path.relative(workspace, agent.file).split(path.sep).join('/'), agent.name);
}

/** Those with the given ids, or all. Throws TrainerError 'bad_input' naming what there is. */
export function choosePrompts(found: readonly Prompt[], ids: readonly string[] | undefined, agent: AgentSpec): Prompt[] {
  if (found.length === 0) throw new TrainerError('bad_input', `No prompt was found that reaches a model call of ${agent.file}. Write it as a string or template literal in the code, or as a file that the code reads; files must be in UTF-8.`);
  const unknown = ids?.find((id) => !found.some(({ prompt_id }) => prompt_id === id));
  if (unknown !== undefined) throw new TrainerError('bad_input', `There is no prompt ${unknown}. Found: ${found.map(({ prompt_id }) => prompt_id).join(', ')}.`);
  return found.filter(({ prompt_id }) => ids === undefined || ids.includes(prompt_id));
}
