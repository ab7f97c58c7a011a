import { existsSync } from 'node:fs';
import path from 'node:path';
import { OpenAIBackend } from '../gateway/openai-backend.ts';
import type { ChatBackend } from '../protocol/chat.ts';
import type { ModelConfig } from '../protocol/config.ts';
import type { ChosenModel } from '../protocol/endpoints.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import { openPolicy } from '../policy/open-policy.ts';
import type { RunContext } from './session.ts';

/** A model as a request names it, with nothing left to look up. */
export type ModelSource =
  | { kind: 'policy'; folder: string; threads: number | undefined }
  | { kind: 'endpoint'; url: string; model: string | null; apiKey: string | null }
  /** Of the editor that asks for the run. */
  | { kind: 'editor'; name: string; backend: ChatBackend };

/** Whoever asks for a run and can answer chat requests itself. */
export interface EditorModels { backend(model: { id: string; name: string }): ChatBackend }

/** The `model` of a configuration whose paths are relative to `folder`. */
export function modelOfConfig(model: ModelConfig, folder: string, threads: number | undefined): ModelSource {
  if (model.path !== undefined) return { kind: 'policy', folder: localModel(path.resolve(folder, model.path)), threads };
  const apiKey = model.api_key_env === undefined ? null : process.env[model.api_key_env] ?? null;
  if (model.api_key_env !== undefined && apiKey === null) throw new TrainerError('environment', `The environment variable ${model.api_key_env}, which model.api_key_env names, is not set. Set it to the key of ${model.endpoint}.`);
  return { kind: 'endpoint', url: model.endpoint!, model: model.name ?? null, apiKey }; // the schema demands one of the two
}

/** A model given as text: the URL of an OpenAI-compatible server (its key in OPENAI_API_KEY; `#name` picks one of its models), or a folder relative to `cwd`. */
export function modelOfText(text: string, cwd: string): ModelSource {
  if (/^https?:/i.test(text)) {
    if (!URL.canParse(text)) throw new TrainerError('bad_input', `"${text}" is not a URL. Give one like http://127.0.0.1:11434/v1, or the path of a model folder.`);
    const [url = text, ...name] = text.split('#');
    return { kind: 'endpoint', url, model: name.join('#') || null, apiKey: process.env['OPENAI_API_KEY'] ?? null };
  }
  return { kind: 'policy', folder: localModel(path.resolve(cwd, text)), threads: undefined };
}

/** Checked before the run starts, which may come to its second model only after an hour. */
function localModel(model: string): string {
  if (existsSync(model.endsWith('.gguf') ? model : path.join(model, 'config.json'))) return model;
  throw new TrainerError('not_found', `There is no model in ${model}: it has no config.json. A model is a folder with config.json, model.safetensors and tokenizer.json, or a GGUF file; the URL of a server begins with http:// or https://.`);
}

/** A model that the request itself names. Throws TrainerError 'bad_input' when it is the editor's and no editor asks. */
export function modelOfChoice(choice: ChosenModel, editor: EditorModels | undefined): ModelSource {
  if (choice.kind === 'endpoint') return { kind: 'endpoint', url: choice.url, model: choice.name ?? null, apiKey: choice.api_key ?? null };
  if (!editor) throw new TrainerError('bad_input', 'A model of the editor can only be used by a run that the editor starts.');
  return { kind: 'editor', name: choice.name, backend: editor.backend(choice) };
}

/** Serves a model under `name` at the gateway while `use` runs; `modelName` is what agents send as "model". */
export async function withBackend<T>(context: RunContext, name: string, source: ModelSource, use: (model: { modelName: string }) => Promise<T>): Promise<T> {
  if (source.kind === 'policy') return withPolicy(context, name, source, use);
  if (source.kind === 'editor') return served(context, name, source.backend, use);
  return served(context, name, new OpenAIBackend({ baseUrl: source.url, apiKey: source.apiKey, model: source.model }), use);
}

/** Opens a local policy, serves it under `name` while `use` runs, and closes it. */
export async function withPolicy<T>(context: RunContext, name: string, source: { folder: string; threads: number | undefined }, use: (model: { modelName: string; policy: Policy }) => Promise<T>): Promise<T> {
  const policy = await openPolicy(source.folder, { threads: source.threads });
  try {
    return await served(context, name, policy.chat, ({ modelName }) => use({ modelName, policy }));
  } finally {
    await policy.close();
  }
}

async function served<T>({ gateway }: RunContext, name: string, backend: ChatBackend, use: (model: { modelName: string }) => Promise<T>): Promise<T> {
  const [modelName] = await backend.models().catch((error: unknown) => {
    throw error instanceof TrainerError ? error : new TrainerError('upstream', messageOf(error), { cause: error });
  });
  if (modelName === undefined) throw new TrainerError('upstream', 'The model server lists no model. Name one with model.name in the configuration.');
  gateway.backends.set(name, backend);
  try {
    return await use({ modelName });
  } finally {
    gateway.backends.delete(name);
  }
}
