import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, TrainerError } from '../../protocol/errors.ts';
import { parseAs } from '../../protocol/validate.ts';
import type { HubReference } from './reference.ts';

/** A file of a model. `sha256` of large files, else `gitHash`, the SHA-1 that git knows the file by. */
export interface HubFile { path: string; size: number; hash: string; sha256: string | null }
export interface HubListing { commit: string; files: HubFile[] }

const Model = z.looseObject({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  siblings: z.array(z.looseObject({
    rfilename: z.string(), size: z.number().int().min(0), blobId: z.string().regex(/^[0-9a-f]{40}$/),
    lfs: z.looseObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }).nullish(),
  })),
});

/** Speaks HTTP with the hub at HF_ENDPOINT, with the token given, else that of HF_TOKEN or of `hf auth login`. */
export class HubClient {
  readonly #endpoint = (process.env['HF_ENDPOINT'] || 'https://huggingface.co').replace(/\/+$/, '');
  readonly #reference: HubReference;
  readonly #signal: AbortSignal;
  readonly #token: string | null;

  /** Throws TrainerError `bad_input` when a token holds characters that no token has. */
  constructor(reference: HubReference, signal: AbortSignal, token: string | null = null) {
    this.#reference = reference;
    this.#signal = signal;
    this.#token = token ?? tokenOfThisMachine();
    // A request would fail with a message that shows the token.
    if (this.#token !== null && !/^[!-~]+$/.test(this.#token)) throw new TrainerError('bad_input', 'The Hugging Face token holds spaces or other characters that no token has. Copy it again from https://huggingface.co/settings/tokens.');
  }

  /** The files of the model at its revision. Throws TrainerError when there is no such model or it may not be read. */
  async list(): Promise<HubListing> {
    const { repository, revision } = this.#reference;
    const url = `${this.#endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const { sha, siblings } = parseAs(Model, await (await this.#get(url)).json(), url);
    const files = siblings.filter(({ rfilename }) => !rfilename.split(/[/\\]/).includes('..') && !path.isAbsolute(rfilename));
    return { commit: sha, files: files.map(({ rfilename, size, blobId, lfs }) => ({ path: rfilename, size, hash: lfs?.sha256 ?? blobId, sha256: lfs?.sha256 ?? null })) };
  }

  /** The contents of a file from a byte on; from the beginning when the server cannot do that (`status` 200 and not 206). */
  open(commit: string, file: string, from: number): Promise<Response> {
    const name = file.split('/').map(encodeURIComponent).join('/');
    return this.#get(`${this.#endpoint}/${this.#reference.repository}/resolve/${commit}/${name}`, from === 0 ? {} : { range: `bytes=${from}-` });
  }

  async #get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const token = this.#token;
    const response = await fetch(url, { headers: { 'accept-encoding': 'identity', ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) }, signal: this.#signal });
    if (response.ok) return response;
    await response.body?.cancel();
    throw refusal(this.#reference, response.status, token !== null);
  }
}

function refusal({ repository, revision }: HubReference, status: number, withToken: boolean): TrainerError {
  const details = { status };
  if (status === 401 || status === 403) {
    const what = withToken
      ? `The token may not read it: accept its terms at https://huggingface.co/${repository}, or use a token of an account that has.`
      : `If it is private or has terms to accept (at https://huggingface.co/${repository}), give a token of your account: in HF_TOKEN, or in VS Code by "Agent Trainer: Set Hugging Face Token…".`;
    return new TrainerError('hub_access', `The Hugging Face hub does not give out ${repository} (${status}): it does not exist, or is not public. ${what}`, { details });
  }
  if (status === 404) return new TrainerError('not_found', `The Hugging Face hub has no ${repository} with the version "${revision}". Check the name, as in hf:Qwen/Qwen2.5-0.5B-Instruct.`, { details });
  return new TrainerError('upstream', `The Hugging Face hub answered ${status} for ${repository}. Try again later.`, { details });
}

/** Whether the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof TrainerError)) return true; // the connection
  const status = Number(error.details?.['status'] ?? 0);
  return status === 408 || status === 429 || status >= 500;
}

export function cannotReach(repository: string, cause: unknown): TrainerError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : messageOf(cause);
  return new TrainerError('upstream', `The Hugging Face hub could not be reached for ${repository}: ${reason}. What has arrived is kept; run it again to go on, or give the path of a model that is on this machine.`, { cause });
}

function tokenOfThisMachine(): string | null {
  const named = process.env['HF_TOKEN'] || process.env['HUGGING_FACE_HUB_TOKEN'];
  if (named) return named;
  const { HF_TOKEN_PATH, HF_HOME } = process.env;
  const file = HF_TOKEN_PATH || path.join(HF_HOME || path.join(homedir(), '.cache', 'huggingface'), 'token');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || null : null;
}
