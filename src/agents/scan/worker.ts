import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../trainer/protocol/errors.ts';
import { findPrompts, promptsIn, readFromDisk } from '../../../trainer/prompts/find-prompts.ts';
import type { Answer, Request } from './protocol.ts';
import { Scanner } from './scanner.ts';

/** Entry of the thread that reads sources, so that the thread of the extension host never does. */
const scanner = new Scanner();
const cancelled = new Set<number>();

parentPort?.on('message', (request: Request) => {
  if (request.kind === 'cancel') {
    cancelled.add(request.id);
    return;
  }
  answer(request)
    .catch((error: unknown): Answer => ({ id: request.id, kind: 'failed', message: messageOf(error) }))
    .then((reply) => {
      cancelled.delete(request.id);
      parentPort?.postMessage(reply);
    }, () => {});
});

async function answer(request: Exclude<Request, { kind: 'cancel' }>): Promise<Answer> {
  const { id } = request;
  switch (request.kind) {
    case 'read': return { id, kind: 'read', agents: scanner.detect(request.fileName, request.text) };
    case 'prompts-in': return { id, kind: 'prompts', prompts: promptsIn(request.fileName, request.text) };
    case 'prompts-of': return { id, kind: 'prompts', prompts: findPrompts(request.folder, request.file, request.name, (path) => request.unsaved[path] ?? readFromDisk(request.folder, path)) };
    case 'look': return { id, kind: 'looked', result: scanner.look(request.folders, request.changes) };
    case 'scan': {
      const result = await scanner.scan(request.folders, () => cancelled.has(id));
      return result === null ? { id, kind: 'cancelled' } : { id, kind: 'scanned', result };
    }
  }
}
