import type { ChatMessage } from './chat.ts';

/** A conversation to learn from: the assistant's messages at `from` and later are what is to be said there. */
export interface Example { messages: ChatMessage[]; tools: unknown[] | null; from: number }

/** Two continuations of one conversation, the first the better. */
export interface Preference { chosen: Example; rejected: Example }
