import { TrainerError } from '../protocol/errors.ts';
import type { ChatMessage } from '../protocol/chat.ts';
import type { ModelTokenizer } from '../models/tokenizer.ts';

export interface Conversation { messages: ChatMessage[]; tools: unknown[] | null }

/** Token ids of a conversation, at least one and fewer than the context holds. Throws TrainerError `bad_input`; `details.code` is OpenAI's code where it has one. */
export function chatPrompt(tokenizer: ModelTokenizer, { messages, tools }: Conversation, contextLength: number): number[] {
  const prompt = tokenizer.encode(tokenizer.renderChat(messages, tools));
  if (prompt.length === 0) throw new TrainerError('bad_input', "The model's chat template makes nothing of these messages, and an answer needs a prompt. Check chat_template in the model's tokenizer_config.json, or chat_template.jinja.");
  if (prompt.length >= contextLength) {
    throw new TrainerError('bad_input', `This model's context holds ${contextLength} tokens, and the messages have ${prompt.length}. Shorten the messages.`, { details: { code: 'context_length_exceeded' } });
  }
  return prompt;
}
