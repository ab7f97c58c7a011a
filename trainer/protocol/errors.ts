/** What kind of failure a TrainerError is. Callers branch on it; users never see it without the message. */
export type ErrorCode =
  | 'bad_input' // a file, flag, field or message from outside is wrong; the message names it
  | 'not_found'
  | 'conflict' // the state does not allow it (a finished run cannot be cancelled)
  | 'agent' // the user's agent cannot be loaded or started
  | 'environment' // something on this machine is missing or unusable (interpreter, native module, port)
  | 'upstream' // a model server failed or refused
  | 'hub_access' // the Hugging Face hub does not give out a model to this token, or without one
  | 'numeric' // a non-finite number where training cannot go on
  | 'out_of_memory'
  | 'cancelled'
  | 'internal';

/**
 * An error a person can act on. `message` is one or two full sentences: what happened, then what to do.
 * Everything thrown across a folder boundary is one of these or a bug.
 */
export class TrainerError extends Error {
  override readonly name = 'TrainerError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }
}

/** Why a file could not be read, as the rest of a sentence. */
export function whyUnreadable(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : messageOf(error);
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
