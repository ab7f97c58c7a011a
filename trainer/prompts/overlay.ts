import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TrainerError, whyUnreadable } from '../protocol/errors.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { applyPrompt } from './apply-prompt.ts';
import { applyEdits } from './text-edit.ts';
import { decodeUtf8 } from './text-file.ts';

/**
 * The files of the workspace as they would be with other texts in their prompts; files that stay as they are are left out.
 * @param workspace absolute path of the folder that Prompt.file is relative to
 * @param texts by prompt id, in the notation of Prompt.text; prompts without one stay as they are
 * @throws TrainerError 'conflict' when a prompt has changed since it was found, 'not_found' when its file is gone, 'bad_input' when it is not in UTF-8
 */
export function overlayOf(workspace: string, prompts: readonly Prompt[], texts: Readonly<Record<string, string>>): { path: string; text: string }[] {
  const changed = prompts.filter(({ prompt_id, text }) => texts[prompt_id] !== undefined && texts[prompt_id] !== text);
  return [...new Set(changed.map(({ file }) => file))].map((file) => {
    const path = join(workspace, file);
    const before = read(path);
    const edits = changed.filter((prompt) => prompt.file === file).flatMap((prompt) => applyPrompt(before, prompt, texts[prompt.prompt_id] ?? prompt.text));
    return { path, text: applyEdits(before, edits) };
  });
}

function read(path: string): string {
  try {
    return decodeUtf8(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) throw new TrainerError('bad_input', `The file ${path} is not in UTF-8, so its prompts cannot be changed. Save it in UTF-8.`, { cause: error });
    throw new TrainerError('not_found', `The file ${path} cannot be read: ${whyUnreadable(error)}. Find the prompts anew.`, { cause: error });
  }
}
