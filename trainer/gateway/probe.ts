import type { ChatBackendError, ChatCompletion, ChatRequest } from '../protocol/chat.ts';
import type { Capability, EndpointCapabilities, ProbeRequest } from '../protocol/endpoints.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { bearerOf, OpenAIBackend } from './openai-backend.ts';

const questionMs = 20_000;
const user = (content: string): ChatRequest['messages'] => [{ role: 'user', content }];
const addTool = {
  type: 'function',
  function: { name: 'add', description: 'Adds two numbers.', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] } },
};

/**
 * Finds out what an endpoint can do by four small requests: its models, a short answer with token ids and log-probabilities,
 * one with a tool, one streamed. Throws TrainerError 'upstream' when nobody answers or there is no model to ask.
 */
export async function probeEndpoint({ url, name, api_key }: Omit<ProbeRequest, 'refresh'>): Promise<EndpointCapabilities> {
  const endpoint = { baseUrl: url, apiKey: api_key ?? null, retry: { tries: 1 }, idleTimeoutMs: questionMs };
  const models = await new OpenAIBackend(endpoint).models().catch((error: unknown) => {
    if (name !== undefined && (error as ChatBackendError).status === 404) return []; // some servers list nothing, and answer
    throw new TrainerError('upstream', messageOf(error), { cause: error });
  });
  const model = name ?? models[0];
  if (model === undefined) throw new TrainerError('upstream', `The model server at ${url} lists no model. Load one there, or name the model.`);
  const backend = new OpenAIBackend({ ...endpoint, model });
  const found = { url, model, models };
  try {
    const answer = await complete(backend, { model, messages: user('Say hello.'), max_tokens: 8, temperature: 1, top_p: 1 });
    return { ...found, chat: yes('It answers chat completions.'), ...sampledOf(answer), tools: await toolsOf(backend, model), streaming: await streamingOf(url, model, api_key) };
  } catch (error) {
    const unknown: Capability = { state: 'unknown', detail: 'Not asked, since it does not answer.' };
    return { ...found, chat: no(messageOf(error)), token_ids: unknown, logprobs: unknown, tools: unknown, streaming: unknown };
  }
}

function sampledOf({ choices, prompt_token_ids }: ChatCompletion): Pick<EndpointCapabilities, 'token_ids' | 'logprobs'> {
  const [choice] = choices;
  return {
    token_ids: choice?.token_ids && prompt_token_ids ? yes('It returns the token ids of prompt and answer.') : no('It returns text without token ids.'),
    logprobs: choice?.logprobs ? yes('It returns the log-probability of each token.') : no('It returns no log-probabilities.'),
  };
}

async function toolsOf(backend: OpenAIBackend, model: string): Promise<Capability> {
  try {
    const { choices } = await complete(backend, { model, messages: user('Use the tool to add 2 and 3.'), max_tokens: 64, tools: [addTool] });
    return choices[0]?.message.tool_calls?.length ? yes('It called the tool it was given.') : { state: 'unknown', detail: 'It accepts tools, but this model answered the question without calling the one it was given.' };
  } catch (error) {
    return no(messageOf(error));
  }
}

/** Not through the backend, which makes a stream of an answer that came in one piece. */
async function streamingOf(url: string, model: string, key: string | undefined): Promise<Capability> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST', headers: { 'content-type': 'application/json', ...bearerOf(key ?? null) }, signal: AbortSignal.timeout(questionMs),
      body: JSON.stringify({ model, messages: user('Say hello.'), max_tokens: 8, stream: true }),
    });
    const streams = response.ok && response.headers.get('content-type')?.includes('text/event-stream') === true;
    await response.body?.cancel();
    if (streams) return yes('It sends its answer piece by piece.');
    return no(response.ok ? 'It answers in one piece.' : `It refused to stream with status ${response.status}.`);
  } catch (error) {
    return { state: 'unknown', detail: `The streamed answer failed: ${messageOf(error)}.` };
  }
}

async function complete(backend: OpenAIBackend, request: ChatRequest): Promise<ChatCompletion> {
  const context = { rollout_id: null, attempt_id: null, mode: null, seed: null, signal: AbortSignal.timeout(questionMs) };
  for await (const event of backend.chat(request, context)) if (event.type === 'done') return event.completion;
  throw new TrainerError('upstream', 'It ended its answer without completing it.');
}

function yes(detail: string): Capability {
  return { state: 'yes', detail };
}

function no(detail: string): Capability {
  return { state: 'no', detail };
}
