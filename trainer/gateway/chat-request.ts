import { ChatRequest } from '../protocol/chat.ts';
import type { SamplingOverrides } from '../protocol/rollout.ts';
import { invalidRequest } from './openai-error.ts';

/** Parses a request body. Throws OpenAI's 400 naming the field; `body` is the raw text. */
export function parseChatRequest(body: unknown): ChatRequest {
  const json = parseJson(body);
  const parsed = ChatRequest.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const param = issue ? fieldName(issue.path) : '';
  const missing = issue !== undefined && valueAt(json, issue.path) === undefined;
  throw invalidRequest(
    missing ? `Missing required parameter: '${param}'.` : `Invalid value for '${param}': ${issue?.message ?? 'not understood'}.`,
    { param, code: missing ? 'missing_required_parameter' : 'invalid_value' },
  );
}

/** The request with the rollout's sampling parameters in place of the agent's own, and the call's seed. */
export function applyOverrides(request: ChatRequest, overrides: SamplingOverrides, seed: number | null): ChatRequest {
  const { max_tokens, ...sampling } = overrides;
  delete sampling.dtype; // the local policy has it from the call's context
  const effective: ChatRequest = { ...request, ...sampling };
  if (max_tokens !== undefined) {
    // Newer OpenAI models refuse `max_tokens`: keep the name the agent used.
    if (request.max_completion_tokens != null) effective.max_completion_tokens = max_tokens;
    else effective.max_tokens = max_tokens;
  }
  if (seed !== null) effective.seed = seed;
  return effective;
}

function parseJson(body: unknown): unknown {
  if (typeof body !== 'string' || body.trim() === '') throw invalidRequest('The request has no body. Send a JSON object with "model" and "messages".');
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (error) {
    throw invalidRequest(`The request body is not valid JSON: ${(error as Error).message}.`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw invalidRequest('The request body must be a JSON object with "model" and "messages".');
  return json;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`)).join('');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, part) => (typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[part] : undefined), value);
}
