import type { Tokenizer } from '@huggingface/tokenizers';
import type { Message } from '../../examples/sql-agent/prompts.ts';
import type { SupervisedRow } from '../../trainer/policy/supervised.ts';

/** Turns conversations into token rows, laid out as the chat template does; what the assistant says, its end token included, is trained. */
export function conversationEncoder(tokenizer: Tokenizer): (messages: readonly Message[]) => SupervisedRow {
  const known = new Map<string, number[]>();
  const encode = (text: string): number[] => {
    const ids = known.get(text) ?? tokenizer.encode(text, { add_special_tokens: false }).ids;
    if (known.size < 100_000) known.set(text, ids);
    return ids;
  };
  return (messages) => {
    const tokens: number[] = [];
    const mask: number[] = [];
    const append = (text: string, trained: boolean): void => {
      for (const id of encode(text)) {
        tokens.push(id);
        mask.push(trained ? 1 : 0);
      }
    };
    for (const { role, content } of messages) {
      append(`<|im_start|>${role}\n`, false);
      append(content, role === 'assistant');
      append('<|im_end|>', role === 'assistant');
      append('\n', false);
    }
    return { tokens, mask };
  };
}
