import type { FastifyReply } from 'fastify';
import { ChatBackendError } from '../protocol/chat.ts';
import type { CallContext, ChatBackend, ChatChunk, ChatEvent, ChatRequest } from '../protocol/chat.ts';
import { AgentView, chunksOf } from './agent-view.ts';
import type { CallResult } from './call-span.ts';
import { ChunkAssembler } from './chunk-assembler.ts';
import { errorBody, toBackendError } from './openai-error.ts';
import { SseReply } from './sse-reply.ts';

export interface ChatCall {
  backend: ChatBackend;
  /** As the agent sent it. */
  asked: ChatRequest;
  /** With the rollout's overrides. */
  effective: ChatRequest;
  context: CallContext;
  /** Writes the span. Called once, before the agent gets the last byte. */
  record(result: Pick<CallResult, 'completion' | 'tokens' | 'sampling' | 'error'>): void;
}
type Done = Extract<ChatEvent, { type: 'done' }>;

/** Serves the call on `reply`. Throws a recorded ChatBackendError while the status can still be chosen. */
export async function serveCall(call: ChatCall, reply: FastifyReply): Promise<void> {
  const assembler = new ChunkAssembler();
  const view = new AgentView(call.asked);
  const sse = call.asked.stream === true ? new SseReply(reply, call.context.signal) : null;
  const ending: ChatChunk[] = [];
  let done: Done;
  try {
    done = await relay(call, assembler, view, sse, ending);
  } catch (cause) {
    const error = call.context.signal.aborted ? agentLeft(cause) : toBackendError(cause);
    call.record({ completion: assembler.completion(), tokens: null, sampling: null, error });
    if (!sse?.open) throw error;
    if (!call.context.signal.aborted) await sse.fail(errorBody(error));
    return;
  }
  call.record({ completion: done.completion, tokens: done.tokens, sampling: done.sampling, error: null });
  if (!sse) return void reply.send(view.completion(done.completion));
  const usage = view.usage(done.completion);
  try {
    for (const chunk of usage ? [...ending, usage] : ending) await sse.send(chunk);
    await sse.done();
  } catch (error) {
    // An agent that has all it wants may leave before the last event: the call is complete and recorded.
    if (!call.context.signal.aborted) throw error;
  }
}

/** Passes chunks on as they come; those that end a choice go to `ending`, so that the span is written before the agent knows of the end. */
async function relay(call: ChatCall, assembler: ChunkAssembler, view: AgentView, sse: SseReply | null, ending: ChatChunk[]): Promise<Done> {
  let any = false;
  const pass = async (chunk: ChatChunk) => {
    const seen = view.chunk(chunk);
    if (!sse || !seen) return;
    if (chunk.choices.some((choice) => choice.finish_reason != null)) ending.push(seen);
    else await sse.send(seen);
  };
  for await (const event of call.backend.chat(call.effective, call.context)) {
    call.context.signal.throwIfAborted();
    if (event.type === 'done') {
      if (!any) for (const chunk of chunksOf(event.completion)) await pass(chunk);
      return event;
    }
    any = true;
    assembler.add(event.chunk);
    await pass(event.chunk);
  }
  throw new ChatBackendError(502, 'server_error', 'The model ended its answer without completing it.', { code: 'upstream_interrupted' });
}

/** The connection closed before the answer was complete. Status 499 as web servers log it; nobody receives it. */
function agentLeft(cause: unknown): ChatBackendError {
  return new ChatBackendError(499, 'client_error', 'The agent closed the connection before the answer was complete.', { code: 'client_disconnected', cause });
}
