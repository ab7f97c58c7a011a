import type { ChatMessage } from '../protocol/chat.ts';
import type { Rejection } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import type { Texts } from './pool.ts';
import { cut } from './transcript.ts';

/** One rollout as the optimiser is shown it. */
export interface Example { reward: number | null; outcome: string; reason: string | null; transcript: string }

/** A prompt to be improved, within the set of texts it belongs to. */
export interface Subject { prompt: Prompt; texts: Texts; prompts: readonly Prompt[]; limit: number }

/** Asks for a critique and a new text at once, from what happened on some tasks. */
export function askToReflect(subject: Subject, examples: readonly Example[]): ChatMessage[] {
  return asked(`${present(subject)}

${describe(examples)}

Work in two parts.
1. Between <critique> and </critique>: which general faults or gaps of the prompt cost reward here, and what the prompt should say instead. Look for what several tasks share, and for facts and procedures that the feedback reveals and the prompt lacks.
2. Between <prompt> and </prompt>: the complete improved prompt.

${rules(subject)}`);
}

/** Asks what is wrong with the text, and for nothing else. */
export function askForCritique(subject: Subject, examples: readonly Example[]): ChatMessage[] {
  return asked(`${present(subject)}

${describe(examples)}

Say, between <critique> and </critique>, which faults or gaps of the prompt cost reward here, the most costly first, and what should change. Be specific and brief. Do not write the new prompt.`);
}

/** Asks for the text that a critique calls for. `careful`: only its most important point. */
export function askForEdit(subject: Subject, critique: string, careful: boolean): ChatMessage[] {
  return asked(`${present(subject)}

A reviewer who saw it at work wrote:
<critique>
${critique}
</critique>

${careful
    ? 'Change the prompt as little as it takes to answer the most important point of the critique. Everything else stays word for word.'
    : 'Rewrite the prompt so that it answers the critique. Keep what the critique does not object to.'}
Write the complete new prompt between <prompt> and </prompt>.

${rules(subject)}`);
}

/** An answer that is longer is shown to its author in part: it would fill the context, and be paid for again. */
const answerCharacters = 40_000;

/** What is said to an answer that cannot be used. */
export function askToRepair(answer: string, { message }: Rejection): ChatMessage[] {
  return [
    { role: 'assistant', content: cut(answer, answerCharacters) },
    { role: 'user', content: `This cannot be used: ${message} Write the complete prompt again, between <prompt> and </prompt>, without that fault.` },
  ];
}

function asked(content: string): ChatMessage[] {
  return [{ role: 'user', content }];
}

function present({ prompt, texts, prompts }: Subject): string {
  const others = prompts.filter(({ prompt_id }) => prompt_id !== prompt.prompt_id).map(({ prompt_id, name }) => `<other name="${name}">\n${texts[prompt_id]}\n</other>`);
  return `You improve the prompts of an AI agent, so that it earns more reward on tasks of the same kind that nobody has seen yet. This is the prompt to improve, called "${prompt.name}":
<current>
${texts[prompt.prompt_id]}
</current>${others.length === 0 ? '' : `\nThe agent also has these prompts, which stay as they are:\n${others.join('\n')}`}`;
}

function describe(examples: readonly Example[]): string {
  return `This is what the agent did with it on ${examples.length} tasks:
${examples.map(({ reward, outcome, reason, transcript }, i) => `<task number="${i + 1}" reward="${reward ?? 'none'}"${outcome === 'scored' ? '' : ` ended="${outcome}"`}>
${transcript}${reason === null ? '' : `\nFeedback: ${reason}`}
</task>`).join('\n')}`;
}

function rules({ prompt, limit }: Subject): string {
  const placeholders = prompt.variables.map(({ placeholder }) => placeholder);
  return [
    'Rules for the new prompt:',
    '- It must help on any task of this kind: state procedures and facts, never the answers of single tasks.',
    '- Keep what already works.',
    placeholders.length > 0
      ? `- These placeholders are filled in by the program. Each must stay, written exactly so, and no other may be added: ${placeholders.join('  ')}`
      : '- It has no placeholders, and none may be added.',
    `- At most ${limit} characters.`,
  ].join('\n');
}
