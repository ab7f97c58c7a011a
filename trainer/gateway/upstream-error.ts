import { z } from 'zod';
import { ChatBackendError } from '../protocol/chat.ts';
import { messageOf } from '../protocol/errors.ts';
import { retryAfterSeconds } from './retry.ts';

const ErrorDetail = z.looseObject({
  message: z.string(),
  type: z.string().nullish(),
  param: z.string().nullish(),
  code: z.union([z.string(), z.number()]).nullish(),
});
/** OpenAI's shape, vLLM's older bare shape, and FastAPI's. */
const ErrorPayload = z.union([
  z.looseObject({ error: ErrorDetail }).transform(({ error }) => error),
  ErrorDetail,
  z.looseObject({ error: z.string() }).transform(({ error }) => ({ message: error })),
  z.looseObject({ detail: z.unknown() }).transform(({ detail }) => ({ message: typeof detail === 'string' ? detail : JSON.stringify(detail) })),
]);
type Detail = z.infer<typeof ErrorDetail>;

const contextOverflow = /maximum context length|context (window|length|size)|max_model_len|prompt is too long|too many tokens/i;

/** An error answer of the model server. The status stays the server's own, so that agents see what they would see without us. */
export function upstreamError(server: string, status: number, body: string, retryAfter: string | null): ChatBackendError {
  const detail: Detail = parseDetail(body) ?? { message: body.trim() === '' ? `HTTP status ${status}` : body.slice(0, 500) };
  const code = status === 400 && contextOverflow.test(detail.message) ? 'context_length_exceeded' : detail.code;
  return new ChatBackendError(status, detail.type ?? (status >= 500 ? 'server_error' : 'invalid_request_error'), describe(server, status, detail.message), {
    ...(code == null ? {} : { code: String(code) }),
    ...(detail.param == null ? {} : { param: detail.param }),
    ...(retryAfterSeconds(retryAfter) === null ? {} : { retryAfterSeconds: retryAfterSeconds(retryAfter) as number }),
  });
}

/** An error that came as an event inside a stream; undefined when the event is no error. */
export function streamedError(server: string, event: unknown): ChatBackendError | undefined {
  const detail = z.looseObject({ error: ErrorDetail }).safeParse(event).data?.error;
  if (!detail) return undefined;
  const status = typeof detail.code === 'number' && detail.code >= 400 && detail.code < 600 ? detail.code : 502;
  return upstreamError(server, status, JSON.stringify({ error: detail }), null);
}

/** The server could not be reached, hung, or broke the connection. */
export function connectionError(server: string, error: unknown, timedOut: boolean): ChatBackendError {
  if (timedOut || isUndiciTimeout(error)) {
    return new ChatBackendError(504, 'server_error', `The model server at ${server} stopped answering. Check that it is running and not overloaded.`, { code: 'upstream_timeout', cause: error });
  }
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new ChatBackendError(502, 'server_error', `The model server at ${server} cannot be reached: ${causeText(cause)}. Check the endpoint and that the server is running.`, { code: 'upstream_unreachable', cause: error });
}

export function malformedAnswer(server: string, what: string): ChatBackendError {
  return new ChatBackendError(502, 'server_error', `The model server at ${server} sent something that is no chat completion: ${what}.`, { code: 'upstream_malformed' });
}

/** The parameters among `names` that a 400 or 422 answer names as its reason. */
export function refusedParameters(error: unknown, names: Iterable<string>): string[] {
  if (!(error instanceof ChatBackendError) || (error.status !== 400 && error.status !== 422)) return [];
  return [...names].filter((name) => error.param === name || new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(error.message));
}

function parseDetail(body: string): Detail | undefined {
  try {
    return ErrorPayload.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined; // plain text or HTML
  }
}

function describe(server: string, status: number, message: string): string {
  if (status === 401 || status === 403) return `The model server at ${server} refused the key: ${message}`;
  if (status === 429 || status >= 500) return `The model server at ${server} answered with status ${status}: ${message}`;
  return message;
}

function isUndiciTimeout(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  return cause?.code !== undefined && /^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(cause.code);
}

/** A refused connection to a name with several addresses has an empty message of its own. */
function causeText(cause: unknown): string {
  return messageOf(cause) || (cause as { code?: string }).code || 'connection failed';
}
