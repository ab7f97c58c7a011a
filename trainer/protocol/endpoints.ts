import { z } from 'zod';
import { ChatCompletion, ChatRequest } from './chat.ts';

const EndpointUrl = z.url({ protocol: /^https?$/, error: 'give the URL of an OpenAI-compatible server, as a rule ending in /v1' });

/** A model that one request names for itself. Its key stays in memory: it is written neither to the store nor to traces. */
export const ChosenModel = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('endpoint'), url: EndpointUrl, name: z.string().optional(), api_key: z.string().optional(), /** The variable of the trainer's environment that holds the key: unlike the key it is kept, for a run that goes on later. */ api_key_env: z.string().optional() }),
  /** A model of the editor: the client that asks also answers, see Ask. For a few rollouts by hand. */
  z.object({ kind: z.literal('editor'), id: z.string(), name: z.string() }),
]);
export type ChosenModel = z.infer<typeof ChosenModel>;

/** The models of a search that goes on, named again: their keys are not kept. */
export const ModelsAgain = z.object({ model: ChosenModel.optional(), optimizer: ChosenModel.optional() });
export type ModelsAgain = z.infer<typeof ModelsAgain>;

/** Tasks that one run may do with a model of the editor: their terms allow use by a person, not in bulk. */
export const mostEditorTasks = 5;

export const ProbeRequest = z.object({ url: EndpointUrl, name: z.string().optional(), api_key: z.string().optional(), refresh: z.boolean().default(false) });
export type ProbeRequest = z.infer<typeof ProbeRequest>;

/** `unknown`: the server did not answer the question, for the reason given. */
export const Capability = z.object({ state: z.enum(['yes', 'no', 'unknown']), detail: z.string() });
export type Capability = z.infer<typeof Capability>;

/** What an endpoint can do, found by asking it. */
export const EndpointCapabilities = z.object({
  url: z.string(),
  /** The model that was asked. */
  model: z.string(),
  /** As the server lists them. */
  models: z.array(z.string()),
  chat: Capability,
  token_ids: Capability,
  logprobs: Capability,
  tools: Capability,
  streaming: Capability,
});
export type EndpointCapabilities = z.infer<typeof EndpointCapabilities>;

/** A model server that answered on this machine. */
export const FoundServer = z.object({ name: z.string(), url: z.string(), models: z.array(z.string()) });
export type FoundServer = z.infer<typeof FoundServer>;

/** Trainer → client that started a run with a model of its own: answer this with `models.answer`. */
export const Ask = z.object({ ask: z.object({ ask_id: z.number().int(), model: z.string(), request: ChatRequest }) });
export type Ask = z.infer<typeof Ask>;

/** The client has been told to forget an ask: nobody waits for its answer any more. */
export const AskOver = z.object({ ask_over: z.object({ ask_id: z.number().int() }) });

export const Answer = z.object({
  ask_id: z.number().int(),
  outcome: z.union([
    z.object({ completion: ChatCompletion }),
    z.object({ error: z.object({ status: z.number().int().min(400).max(599), message: z.string(), code: z.string().optional() }) }),
  ]),
});
export type Answer = z.infer<typeof Answer>;

/** One task of an agent, to be run by a debugger. */
export const DebugRequest = z.object({
  agent: z.string(),
  data: z.string(),
  /** Of the task in the file, from 0. */
  task: z.number().int().min(0).default(0),
  policy: z.string().optional(),
  model: ChosenModel.optional(),
});
export type DebugRequest = z.infer<typeof DebugRequest>;

/** How a debugger starts the worker, which then runs the task and ends. The token in `env` lets one worker in, once. */
export const DebugLaunch = z.object({
  run_id: z.string(),
  rollout_id: z.string(),
  language: z.enum(['python', 'node']),
  /** The interpreter, and what comes before and after the program. */
  command: z.string(),
  interpreter_args: z.array(z.string()),
  /** node: a file; python: the name of a module. */
  program: z.string(),
  cwd: z.string(),
  /** What must differ from the trainer's own environment; null: unset. */
  env: z.record(z.string(), z.string().nullable()),
  /** Folder of code that is not the user's. */
  runtime: z.string(),
});
export type DebugLaunch = z.infer<typeof DebugLaunch>;
