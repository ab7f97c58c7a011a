import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import fastify from 'fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Gateway } from '../gateway/gateway.ts';
import { errorBody, invalidRequest, toBackendError } from '../gateway/openai-error.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { RunManager } from '../runs/run-manager.ts';
import { openStore } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { refusalOf, sameSecret, tokenOf } from './access.ts';
import { Connections } from './connections.ts';
import { removeServerFile, writeServerFile } from './server-file.ts';

/** The trainer of one workspace, listening on the loopback interface. Several may share a workspace. */
export interface Trainer {
  store: Store;
  runs: RunManager;
  gateway: Gateway;
  connections: Connections;
  /** Without a path. */
  url: string;
  /** What RPC clients must present. */
  token: string;
  /** Holds url and token, readable for this user alone; null when the trainer is not announced. */
  tokenFile: string | null;
  /** Ends its runs, waits for their processes, and closes everything. */
  close(): Promise<void>;
}

export interface TrainerOptions {
  /** Folder that holds `.agent-trainer/`; made if absent. */
  workspace: string;
  /** Default: a free one. */
  port?: number | undefined;
  /** Write `server.json`, so that editors find the trainer and use it. Not for one that ends with its own run. */
  announce?: boolean;
  /** Where failures of the trainer itself are told, one line each. */
  log?: (line: string) => void;
}

/** Throws TrainerError 'environment' when the folder or the port cannot be used. */
export async function openTrainer({ workspace, port = 0, announce = false, log = (line) => void process.stderr.write(`${line}\n`) }: TrainerOptions): Promise<Trainer> {
  const folder = prepareFolder(workspace);
  const store = openStore(path.join(folder, 'trainer.db'));
  const token = newSecret();
  const gatewayKey = newSecret();
  const gateway = new Gateway(store, { key: gatewayKey });
  const app = createApp(gateway, token);
  const closing: (() => Promise<void> | void)[] = [() => store.close(), () => app.close()];
  const close = async (): Promise<void> => {
    for (let step = closing.pop(); step; step = closing.pop()) await step();
  };
  try {
    const url = await listen(app, port);
    const runs = new RunManager({ store, gateway, gatewayUrl: url, gatewayKey, workspace });
    closing.push(() => runs.close());
    runs.recover();
    const connections = new Connections(app.server, token, { store, runs }, log);
    closing.push(() => connections.close());
    const tokenFile = announce ? await writeServerFile(folder, { url, token, gateway_key: gatewayKey, pid: process.pid }) : null;
    if (tokenFile !== null) closing.push(() => removeServerFile(tokenFile, token));
    return { store, runs, gateway, connections, url, token, tokenFile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createApp(gateway: Gateway, token: string): FastifyInstance {
  const refuse = (error: unknown, reply: FastifyReply): void => {
    const failure = toBackendError(error);
    void reply.status(failure.status).send(errorBody(failure));
  };
  const app = fastify({ forceCloseConnections: true, frameworkErrors: (error, _request, reply) => refuse(error, reply as FastifyReply) });
  app.setErrorHandler((error, _request, reply) => refuse(error, reply));
  app.setNotFoundHandler((request, reply) => {
    void reply.status(404).send(errorBody(invalidRequest(`There is nothing at ${request.method} ${request.url}. Base URLs end in /v1.`, { code: 'unknown_url' })));
  });
  app.addHook('onRequest', async ({ headers }) => {
    const refusal = refusalOf(headers);
    if (refusal !== null) throw invalidRequest(refusal, { status: 403, code: 'forbidden' });
  });
  app.get('/healthz', async ({ headers }) => {
    const given = tokenOf(headers);
    if (given !== null && !sameSecret(given, token)) throw invalidRequest('The token is not the one of this trainer.', { status: 401, code: 'invalid_token' });
    return { status: 'ok' };
  });
  void app.register(gateway.plugin);
  return app;
}

async function listen(app: FastifyInstance, port: number): Promise<string> {
  try {
    await app.listen({ host: '127.0.0.1', port });
  } catch (error) {
    throw new TrainerError('environment', `The trainer cannot listen on port ${port}: ${messageOf(error)}. Choose another port, or none to get a free one.`, { cause: error });
  }
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** The state folder, kept out of version control: it holds keys, traces and checkpoints. */
function prepareFolder(workspace: string): string {
  const folder = path.join(workspace, '.agent-trainer');
  try {
    mkdirSync(folder, { recursive: true });
    const ignore = path.join(folder, '.gitignore');
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  } catch (error) {
    throw new TrainerError('environment', `The folder ${folder} cannot be used: ${messageOf(error)}. Check its permissions.`, { cause: error });
  }
  return folder;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
