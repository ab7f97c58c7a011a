import { OpenAIBackend } from '../gateway/openai-backend.ts';
import type { ChatBackend } from '../protocol/chat.ts';
import type { TrainConfig } from '../protocol/config.ts';
import type { ChosenModel } from '../protocol/endpoints.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import { configuredModel, namedAdapter, namedModel } from '../policy/named-model.ts';
import { openPolicy, type OpenPolicyOptions } from '../policy/open-policy.ts';
import { describeChoice } from '../policy/provider/choose.ts';
import type { Provider } from '../protocol/providers.ts';
import { notice, type RunContext, type Session } from './session.ts';

/** A model as a request names it, with nothing left to look up. */
export type ModelSource =
  | { kind: 'policy'; folder: string; threads: number | undefined; provider: Provider | undefined; lora?: OpenPolicyOptions['lora'] }
  | { kind: 'endpoint'; url: string; model: string | null; apiKey: string | null }
  /** Of the editor that asks for the run. */
  | { kind: 'editor'; name: string; backend: ChatBackend };

/** Whoever asks for a run and can answer chat requests itself. */
export interface EditorModels { backend(model: { id: string; name: string }): ChatBackend }

/** The `model` of a configuration whose paths are relative to `folder`. */
export function modelOfConfig({ model, threads, provider }: Pick<TrainConfig, 'model' | 'threads' | 'provider'>, folder: string): ModelSource {
  const local = configuredModel(model, folder);
  const lora = model.lora_adapter_path === undefined ? null : { adapter: namedAdapter(model.lora_adapter_path, folder), base: model.base_dtype };
  if (local !== null) return { kind: 'policy', folder: local, threads, provider, lora };
  const apiKey = model.api_key_env === undefined ? null : process.env[model.api_key_env] ?? null;
  if (model.api_key_env !== undefined && apiKey === null) throw new TrainerError('environment', `The environment variable ${model.api_key_env}, which model.api_key_env names, is not set. Set it to the key of ${model.endpoint}.`);
  return { kind: 'endpoint', url: model.endpoint!, model: model.name ?? null, apiKey }; // the schema demands one of the two
}

/** A model given as text: the URL of an OpenAI-compatible server (its key in OPENAI_API_KEY; `#name` picks one of its models), or a local policy (a path relative to `cwd`, or a model of the hub). */
export function modelOfText(text: string, cwd: string): ModelSource {
  if (/^https?:/i.test(text)) {
    if (!URL.canParse(text)) throw new TrainerError('bad_input', `"${text}" is not a URL. Give one like http://127.0.0.1:11434/v1, or the path of a model folder.`);
    const [url = text, ...name] = text.split('#');
    return { kind: 'endpoint', url, model: name.join('#') || null, apiKey: process.env['OPENAI_API_KEY'] ?? null };
  }
  return { kind: 'policy', folder: namedModel(text, cwd), threads: undefined, provider: undefined };
}

/** A model that the request itself names. Throws TrainerError 'bad_input' when it is the editor's and no editor asks. */
export function modelOfChoice(choice: ChosenModel, editor: EditorModels | undefined): ModelSource {
  if (choice.kind === 'endpoint') return { kind: 'endpoint', url: choice.url, model: choice.name ?? null, apiKey: choice.api_key ?? (choice.api_key_env === undefined ? null : process.env[choice.api_key_env] ?? null) };
  if (!editor) throw new TrainerError('bad_input', 'A model of the editor can only be used by a run that the editor starts.');
  return { kind: 'editor', name: choice.name, backend: editor.backend(choice) };
}

/** Serves a model under `name` at the gateway while `use` runs; `modelName` is what agents send as "model". */
export async function withBackend<T>(session: Session, name: string, source: ModelSource, use: (model: { modelName: string }) => Promise<T>): Promise<T> {
  if (source.kind === 'policy') return withPolicy(session, name, source, use);
  if (source.kind === 'editor') return served(session, name, source.backend, use);
  return served(session, name, new OpenAIBackend({ baseUrl: source.url, apiKey: source.apiKey, model: source.model }), use);
}

/** Opens a local policy (a model of the hub is downloaded if it is not here), serves it under `name` while `use` runs, and closes it. */
export async function withPolicy<T>(session: Session, name: string, source: { folder: string; threads: number | undefined; provider: Provider | undefined; lora?: OpenPolicyOptions['lora'] }, use: (model: { modelName: string; policy: Policy }) => Promise<T>): Promise<T> {
  const policy = await openPolicy(source.folder, { threads: source.threads, provider: session.provider ?? source.provider, lora: source.lora ?? null, signal: session.signal, token: session.hubToken(), onProgress: downloadNotices(session, source.folder) });
  notice(session, 'info', `${source.folder} runs on ${describeChoice({ provider: policy.info.provider, reason: policy.info.provider_reason })}.`);
  try {
    return await served(session, name, policy.chat, ({ modelName }) => use({ modelName, policy }));
  } finally {
    await policy.close();
  }
}

/** Says how far the download of a model is, at each tenth. */
function downloadNotices(session: Session, model: string): (received: number, total: number) => void {
  let tenths = -1;
  return (received, total) => {
    const now = Math.floor(10 * received / total);
    if (now <= tenths) return;
    tenths = now;
    notice(session, 'info', `Downloading ${model}: ${(received / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB.`);
  };
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
