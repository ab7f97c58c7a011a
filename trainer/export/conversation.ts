import { TrainerError } from '../protocol/errors.ts';

/** A conversation's message, as far as any chat template can tell. */
export type Message = { role: 'system' | 'user' | 'assistant'; content: string };
export type RenderChat = (messages: readonly Message[]) => string;

/** What stands around the messages of a prompt that ends with the user's turn. */
export interface ConversationFormat {
  /** In front of everything when there is no system message, as a default one. */
  opening: string;
  /** Around the system message; how it is `joined` to the first user message in front of it; null when the model knows none. */
  system: { before: string; after: string } | { joined: string } | null;
  user: { before: string; after: string };
  assistant: { before: string; after: string };
  /** In front of the answer. */
  answer: string;
}

const [S, U, A, V] = ['qasystemqa', 'qbuserqb', 'qcassistantqc', 'qdlastqd'].map((content, i) => ({ role: (['system', 'user', 'assistant', 'user'] as const)[i]!, content })) as [Message, Message, Message, Message];
const conversations: readonly Message[][] = [[U], [U, A, V], [U, A, V, A, U], [S, U], [S, U, A, V]];

/**
 * Finds what a chat template writes around messages by rendering some, and tries the result on others; null when the template does more than that.
 * Throws TrainerError when the template fails on any but system messages.
 */
export function formatOf(render: RenderChat): ConversationFormat | null {
  const [first, last] = cut(render([U]), [U]) ?? [];
  const [, toAnswer, toUser] = cut(render([U, A, V]), [U, A, V]) ?? [];
  if (first === undefined || last === undefined || toAnswer === undefined || toUser === undefined) return null;
  const userBefore = commonEnd(first, toUser);
  const userAfter = commonStart(last, toAnswer);
  const format: Omit<ConversationFormat, 'system'> = {
    opening: without(first, userBefore, 'end'), user: { before: userBefore, after: userAfter },
    assistant: { before: without(toAnswer, userAfter, 'start'), after: without(toUser, userBefore, 'end') }, answer: without(last, userAfter, 'start'),
  };
  const system = systemOf(render, format.user.before);
  if (system === undefined) return null;
  const found = { ...format, system };
  return conversations.every((messages) => (system === null && messages[0] === S) || written(found, messages) === render(messages)) ? found : null;
}

/** Undefined when it goes neither in front of nor into the user's turn. */
function systemOf(render: RenderChat, userBefore: string): ConversationFormat['system'] | undefined {
  let text: string;
  try {
    text = render([S, U]);
  } catch (error) {
    if (error instanceof TrainerError) return null; // some templates refuse them
    throw error;
  }
  if (!text.includes(S.content)) return null;
  const [before, between] = cut(text, [S, U]) ?? [];
  if (before === undefined || between === undefined) return undefined;
  if (between.endsWith(userBefore)) return { before, after: without(between, userBefore, 'end') };
  return before === userBefore ? { joined: between } : undefined;
}

function written({ opening, system, user, assistant, answer }: ConversationFormat, messages: readonly Message[]): string {
  const hasSystem = messages[0] === S;
  const turns = messages.map(({ role, content }, i) => {
    if (role === 'assistant') return assistant.before + content + assistant.after;
    if (role === 'user') return user.before + (hasSystem && i === 1 && system && 'joined' in system ? S.content + system.joined : '') + content + user.after;
    return system && 'before' in system ? system.before + content + system.after : '';
  });
  return (hasSystem ? '' : opening) + turns.join('') + answer;
}

/** The texts before, between and after the messages; null when one is missing or out of order. */
function cut(text: string, messages: readonly Message[]): string[] | null {
  const parts: string[] = [];
  for (const { content } of messages) {
    const at = text.indexOf(content);
    if (at < 0) return null;
    parts.push(text.slice(0, at));
    text = text.slice(at + content.length);
  }
  return [...parts, text];
}

/** Characters, and tokens such as <|im_end|> as one. */
function pieces(text: string): string[] { return text.match(/<[^<>\s]+>|[\s\S]/g) ?? []; }

function commonStart(a: string, b: string): string { return common(pieces(a), pieces(b)).join(''); }
function commonEnd(a: string, b: string): string { return common(pieces(a).reverse(), pieces(b).reverse()).reverse().join(''); }
function common(a: string[], b: string[]): string[] {
  const end = a.findIndex((piece, i) => piece !== b[i]);
  return end < 0 ? a : a.slice(0, end);
}
function without(text: string, part: string, at: 'start' | 'end'): string { return at === 'start' ? text.slice(part.length) : text.slice(0, text.length - part.length); }
