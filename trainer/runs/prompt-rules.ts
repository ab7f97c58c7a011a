import type { Parts } from '../optimize/parts.ts';
import type { Texts } from '../optimize/pool.ts';
import type { CheckTexts, ProposerOptions } from '../optimize/proposer.ts';
import { checkText } from '../prompts/check-text.ts';
import { leakCheck } from '../prompts/leaks.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { OptimizeRequest } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';

/** Characters that any prompt may have. */
const alwaysAllowed = 2000;

/** What a new text must keep to: its variables and syntax, its length, and no answers out of the data. */
export function promptRules(prompts: readonly Prompt[], { max_prompt_chars }: Pick<OptimizeRequest, 'max_prompt_chars'>, parts: Parts): Pick<ProposerOptions, 'check' | 'limit'> {
  const limit = max_prompt_chars ?? Math.max(alwaysAllowed, 4 * Math.max(0, ...prompts.map(({ text }) => text.length)));
  const leak = leakCheck(prompts, [...parts.train, ...parts.validation, ...parts.test].map(({ input }) => input));
  return {
    limit,
    check: (prompt, texts) => {
      const text = texts[prompt.prompt_id] ?? prompt.text;
      return checkText(prompt, text, limit) ?? leak({ [prompt.prompt_id]: text });
    },
  };
}

/** Throws TrainerError 'bad_input' when a text that a person wrote breaks a rule. */
export function requireUsable(prompts: readonly Prompt[], texts: Texts, parent: Texts, check: CheckTexts): void {
  const changed = prompts.filter(({ prompt_id }) => texts[prompt_id] !== parent[prompt_id]);
  if (changed.length === 0) throw new TrainerError('bad_input', 'The text is the same as before.');
  for (const prompt of changed) {
    const rejection = check(prompt, texts, parent);
    if (rejection) throw new TrainerError('bad_input', `${prompt.name}: ${rejection.message}`);
  }
}
