import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { fromPlain, toPlain, type CallName, type FromWorker, type PolicyCalls, type SampleMessage, type ToWorker, type WorkerOptions } from './messages.ts';
import { PolicyHost, type HostEvent } from './policy-host.ts';

/** The policy's thread: one loop that samples while there is something to sample and runs calls between two steps. */
const port = parentPort as MessagePort;
const inbox: ToWorker[] = [];
let wake: () => void = () => undefined;
let samples: SampleMessage[] = [];
const changesWeights: ReadonlySet<CallName> = new Set(['update', 'sft', 'dpo', 'adoptAverage', 'restore']);

port.on('message', (message: ToWorker) => {
  inbox.push(message);
  wake();
});

try {
  const host = await PolicyHost.open(workerData as WorkerOptions, collect);
  post({ type: 'ready', info: host.info, tokens: host.tokens });
  await serve(host);
} catch (error) {
  post({ type: 'unusable', error: toPlain(error) });
}
port.close();

async function serve(host: PolicyHost): Promise<void> {
  const calls: Extract<ToWorker, { type: 'call' }>[] = [];
  for (;;) {
    // Only here, between steps: ONNX Runtime lets other events in while a run is awaited.
    for (const message of inbox.splice(0)) {
      if (message.type === 'sample') host.submit(message.request);
      else if (message.type === 'cancel') host.sampler.cancel(message.id);
      else calls.push(message);
    }
    const call = calls[0];
    // An answer is sampled with one set of weights: what changes them waits for the running requests, and new requests wait for it.
    const mustDrain = call !== undefined && changesWeights.has(call.name);
    if (call && !(mustDrain && host.sampler.running)) {
      calls.shift();
      if (call.name === 'close') {
        await host.release();
        post({ type: 'answer', id: call.id, output: null });
        return;
      }
      await answer(host, call);
    }
    try {
      if (!mustDrain && host.sampler.waiting) host.sampler.admit();
      if (host.sampler.running) await host.sampler.step();
    } catch (error) {
      host.sampler.failAll(fromPlain(toPlain(error)));
    }
    flush(host);
    const busy = host.sampler.running || host.sampler.waiting || calls.length > 0;
    if (!busy && inbox.length === 0) await new Promise<void>((resolve) => { wake = resolve; });
    else await nextTurn();
  }
}

async function answer(host: PolicyHost, call: Extract<ToWorker, { type: 'call' }>): Promise<void> {
  try {
    post({ type: 'answer', id: call.id, output: await perform(host, call) });
  } catch (error) {
    post({ type: 'refused', id: call.id, error: toPlain(error) });
  }
}

async function perform(host: PolicyHost, call: Extract<ToWorker, { type: 'call' }>): Promise<PolicyCalls[CallName]['output']> {
  switch (call.name) {
    case 'update': return { metrics: await host.update(call.input.miniBatches, call.input.settings), version: host.version };
    case 'sft': return { metrics: await host.sft(call.input.rows, call.input.settings), version: host.version };
    case 'dpo': return { metrics: await host.dpo(call.input.pairs, call.input.settings), version: host.version };
    case 'logprobs': return host.logprobs(call.input.rows, call.input.weights);
    case 'setReference': host.setReference(); return null;
    case 'adoptAverage': await host.adoptAverage(); return { version: host.version };
    case 'save': await host.save(call.input.folder, call.input.resumable); return null;
    case 'restore': await host.restore(call.input.folder); return { version: host.version };
    case 'close': return null;
  }
}

function collect(event: HostEvent): void {
  if (event.type === 'token' || event.type === 'prompt') samples.push(event);
  else if (event.type === 'done') samples.push({ ...event, version: -1 });
  else samples.push({ type: event.type, id: event.id, error: toPlain(event.error) });
}

/** One message for all that a step brought. */
function flush(host: PolicyHost): void {
  if (samples.length === 0) return;
  post({ type: 'samples', samples: samples.map((sample) => (sample.type === 'done' ? { ...sample, version: host.version } : sample)) });
  samples = [];
}

function post(message: FromWorker): void { port.postMessage(message); }
