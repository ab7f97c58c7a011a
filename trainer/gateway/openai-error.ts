import type { FastifyError } from 'fastify';
import { ChatBackendError } from '../protocol/chat.ts';
import { messageOf } from '../protocol/errors.ts';

/** The body OpenAI's servers send with an error status. */
export interface OpenAIErrorBody { error: { message: string; type: string; param: string | null; code: string | null } }

export function errorBody(error: ChatBackendError): OpenAIErrorBody {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code } };
}

/** Headers that go with the error. The model server's retries are spent here, so the agent's SDK must not multiply them. */
export function errorHeaders(error: ChatBackendError): Record<string, string> {
  return {
    ...(error.status === 429 || error.status >= 500 ? { 'x-should-retry': 'false' } : {}),
    ...(error.retryAfterSeconds === null ? {} : { 'retry-after': String(Math.ceil(error.retryAfterSeconds)) }),
  };
}

export function invalidRequest(message: string, options: { param?: string; code?: string; status?: number } = {}): ChatBackendError {
  return new ChatBackendError(options.status ?? 400, 'invalid_request_error', message, options);
}

/** Anything thrown while a call was served, as an error with a status. */
export function toBackendError(error: unknown): ChatBackendError {
  if (error instanceof ChatBackendError) return error;
  const status = (error as Partial<FastifyError>).statusCode;
  if (status === 413) {
    return invalidRequest('The request body is larger than this gateway accepts. Send fewer or shorter messages.', { status, code: 'request_too_large' });
  }
  if (status !== undefined && status >= 400 && status < 500) return invalidRequest(messageOf(error), { status });
  return new ChatBackendError(500, 'server_error', `The trainer failed while serving this call: ${messageOf(error)}`, { cause: error });
}
