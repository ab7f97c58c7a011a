import { z } from 'zod';
import { ChatMessage } from '../protocol/chat.ts';
import type { Example, Preference } from '../protocol/examples.ts';
import { badRow } from './readers/reader.ts';
import { loadTasks } from './tasks.ts';

const Messages = z.array(ChatMessage).min(1);
const Tools = z.array(z.unknown()).nullish().transform((tools) => tools ?? null);

const ExampleRow = z.union([
  z.looseObject({ messages: Messages, tools: Tools }).transform(({ messages, tools }): Example => ({ messages, tools, from: 0 })),
  z.looseObject({ prompt: Messages, completion: Messages, tools: Tools }).transform(({ prompt, completion, tools }) => continued(prompt, completion, tools)),
], { error: 'must be {"messages": [...]} or {"prompt": [...], "completion": [...]}, lists of chat messages such as {"role": "user", "content": "..."}' });

const PreferenceRow = z.looseObject({ prompt: Messages, chosen: Messages, rejected: Messages, tools: Tools }, {
  error: 'must be {"prompt": [...], "chosen": [...], "rejected": [...]}, lists of chat messages such as {"role": "user", "content": "..."}',
});

/** Conversations of a file, as TRL writes them. Throws TrainerError 'bad_input' that names file and line. */
export async function loadExamples(file: string): Promise<Example[]> {
  return loadRows(file, ExampleRow, (example, refuse) => {
    if (!learns(example)) throw refuse('there is no message of the assistant to learn.');
    return example;
  });
}

/** Pairs of a file, as TRL writes them. Throws TrainerError 'bad_input' that names file and line. */
export async function loadPreferences(file: string): Promise<Preference[]> {
  return loadRows(file, PreferenceRow, ({ prompt, chosen, rejected, tools }, refuse) => {
    const preference = { chosen: continued(prompt, chosen, tools), rejected: continued(prompt, rejected, tools) };
    if (!learns(preference.chosen) || !learns(preference.rejected)) throw refuse('both answers need a message of the assistant.');
    return preference;
  });
}

async function loadRows<Row, Made>(file: string, schema: z.ZodType<Row>, make: (row: Row, refuse: (problem: string) => Error) => Made): Promise<Made[]> {
  return (await loadTasks(file)).map(({ input, line }) => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return make(parsed.data, (problem) => badRow(file, line, problem));
    throw badRow(file, line, `the row ${parsed.error.issues.map(({ path, message }) => (path.length === 0 ? message : `has a wrong "${path.join('.')}": ${message}`)).join('; ')}.`);
  });
}

function continued(prompt: ChatMessage[], answer: ChatMessage[], tools: unknown[] | null): Example {
  return { messages: [...prompt, ...answer], tools, from: prompt.length };
}

function learns({ messages, from }: Example): boolean {
  return messages.some(({ role }, i) => role === 'assistant' && i >= from);
}
