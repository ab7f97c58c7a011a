import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readConfig } from '../models/config.ts';
import { tokenizerMetadata } from '../models/gguf/tokenizer-metadata.ts';
import { readTokenizerFiles } from '../models/tokenizer-files.ts';
import { openTokenizer } from '../models/tokenizer.ts';
import { writeWhole } from '../models/write-whole.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { formatOf, type ConversationFormat, type RenderChat } from './conversation.ts';
import { exportGguf, type GgufType } from './gguf.ts';

/** Ollama keeps memory for the whole context of a loaded model, however long the conversations are. */
const longestContext = 8192;

/** Writes a folder with the model as a GGUF file and a Modelfile that Ollama makes its model `name` of. */
export async function exportOllama(source: string, folder: string, type: GgufType, name: string): Promise<void> {
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    await exportGguf(source, path.join(temporary, `${name}.gguf`), type, name);
    await writeFile(path.join(temporary, 'Modelfile'), await modelfile(source, `${name}.gguf`), { flush: true });
  });
}

/** Ollama knows the Jinja templates of some models by heart and reads no others, so that the model's is told in its own language. */
async function modelfile(source: string, gguf: string): Promise<string> {
  const { vocab, eosIds, contextLength } = await readConfig(source);
  const tokenizer = await openTokenizer(source, vocab);
  const metadata = new Map(tokenizerMetadata(await readTokenizerFiles(source), vocab));
  const text = (id: number) => Buffer.from(tokenizer.bytesOf(id)).toString('utf8');
  const bos = metadata.get('tokenizer.ggml.add_bos_token')?.value === true ? text(Number(metadata.get('tokenizer.ggml.bos_token_id')?.value)) : '';
  const render: RenderChat = (messages) => {
    const prompt = tokenizer.renderChat(messages, null);
    return prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt; // Ollama adds it
  };
  return [
    `FROM ./${gguf}`,
    ...templateLines(metadata.has('tokenizer.chat_template') ? render : null),
    ...eosIds.map((id) => `PARAMETER stop ${quoted(text(id))}`),
    `PARAMETER num_ctx ${Math.min(contextLength, longestContext)}`, '',
  ].join('\n');
}

function templateLines(render: RenderChat | null): string[] {
  if (render === null) return ['# The model has no chat template: what is sent to it is what it reads.'];
  try {
    const format = formatOf(render);
    if (format) return [...(format.system ? [] : ['# The chat template of the model knows no system message. It is left out.']), `TEMPLATE ${quoted(goTemplate(format))}`];
    return ['# No TEMPLATE: the chat template of the model does more than write texts around messages. Write one (https://docs.ollama.com/template) unless Ollama knows the model.'];
  } catch (error) {
    if (!(error instanceof TrainerError)) throw error;
    return [`# No TEMPLATE: ${messageOf(error).replace(/\s+/g, ' ')}`];
  }
}

/** In the language of Go's text/template, with Ollama's variables. Tools are not part of it. */
export function goTemplate({ opening, system, user, assistant, answer }: ConversationFormat): string {
  const turn = ({ before, after }: { before: string; after: string }, first = '') => `${literal(before)}${first}{{ .Content }}${literal(after)}`;
  const joined = system && 'joined' in system ? `{{ if and $.System (eq $i 1) }}{{ $.System }}${literal(system.joined)}{{ end }}` : '';
  return [
    opening && `{{ if not .System }}${literal(opening)}{{ end }}`,
    '{{ range $i, $message := .Messages }}',
    `{{ if eq .Role "user" }}${turn(user, joined)}`,
    `{{ else if eq .Role "assistant" }}${turn(assistant)}`,
    system && 'before' in system ? `{{ else if eq .Role "system" }}${turn(system)}` : '',
    `{{ end }}{{ end }}${literal(answer)}`,
  ].join('');
}

function literal(text: string): string { return text.replaceAll('{{', '{{ "{{" }}'); }
function quoted(text: string): string { return /["\n]/.test(text) ? `"""${text}"""` : `"${text}"`; }
