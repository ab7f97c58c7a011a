import { isLlmCall } from '../protocol/span.ts';
import { recordedOperations } from '../protocol/replay.ts';
import type { AttemptedRollout, Resource } from '../protocol/rollout.ts';
import { traceIdOf } from '../store/ids.ts';
import type { Store } from '../store/store.ts';
import { AttemptLogs } from './attempt-logs.ts';
import { outcomeOf, type Ending } from './classify.ts';
import type { RunMessage } from './messages.ts';
import { pipesAreRead } from './pipes.ts';
import { SpanRecorder } from './span-recorder.ts';

/** What runs an attempt: a process of the runner, or one that a debugger started. */
export interface AttemptWorker {
  /** Resolves with how it ended; never rejects. */
  run(message: RunMessage): Promise<Ending>;
  kill(reason: string, ending: Ending): void;
}

export interface Gateway { url: string; key: string }

/** One attempt, from handing it to a worker until its outcome is recorded. */
export class AttemptExecution {
  readonly spans: SpanRecorder;
  readonly logs: AttemptLogs;
  readonly attempt_id: string;
  readonly #store: Store;
  readonly #rollout: AttemptedRollout;
  readonly #worker: AttemptWorker;
  #ended = false;

  constructor(store: Store, rollout: AttemptedRollout, worker: AttemptWorker) {
    const { rollout_id } = rollout;
    this.attempt_id = rollout.attempt!.attempt_id;
    this.#store = store;
    this.#rollout = rollout;
    this.#worker = worker;
    this.spans = new SpanRecorder(store, rollout_id, this.attempt_id);
    this.logs = new AttemptLogs(store, rollout_id, this.attempt_id);
  }

  /** Resolves when the outcome is in the store. Rejects when the store fails. */
  async run(gateway: Gateway, model: string, timeoutSeconds: number): Promise<void> {
    const { resources_id, config } = this.#rollout;
    const resources = resources_id === null ? {} : this.#store.getResources(resources_id)?.resources;
    if (!resources) {
      this.#store.finishAttempt(this.#rollout.rollout_id, this.attempt_id, { outcome: 'infra_error', error: `The rollout asks for resources ${resources_id}, which do not exist.` });
      return;
    }
    const seconds = config.timeout_seconds ?? timeoutSeconds;
    const timer = setTimeout(() => this.#timeUp(seconds), seconds * 1000);
    const ending = await this.#worker.run(this.#message(gateway, model, resources));
    this.#ended = true;
    clearTimeout(timer);
    await pipesAreRead(); // what the agent printed before it sent its result
    this.#record(ending);
  }

  /** Ends the attempt by ending its worker, unless it has ended already. */
  stop(ending: Exclude<Ending, { kind: 'result' }>): void {
    if (this.#ended) return;
    if (ending.kind === 'over') this.spans.abandonOpen(ending.reason); // now: whoever waits for the rollout looks at its spans next
    this.#worker.kill(ending.kind, ending);
  }

  #timeUp(seconds: number): void {
    this.#store.getRollout(this.#rollout.rollout_id); // lets the store apply its own limit first: then it is not a second, late result
    this.stop({ kind: 'timeout', seconds });
  }

  #record(ending: Ending): void {
    const { rollout_id } = this.#rollout;
    if (ending.kind === 'result' && ending.result.kind === 'reward' && this.spans.rewards.length > 1) {
      this.logs.note(`The agent emitted a reward and returned another. The returned one, ${ending.result.value}, counts.`);
    }
    this.spans.flush();
    if (ending.kind === 'over') return this.#close(ending.reason);
    const raised = ending.kind === 'result' && ending.result.kind === 'raised';
    const lastCall = raised ? this.#store.listSpans(rollout_id, this.attempt_id).filter(isLlmCall).at(-1) : undefined;
    const end = outcomeOf(ending, this.spans.rewards.at(-1), lastCall);
    this.#close(end.error ?? 'the attempt was over');
    this.#store.finishAttempt(rollout_id, this.attempt_id, end);
  }

  #close(reason: string): void {
    this.spans.abandonOpen(reason);
    this.logs.finish();
  }

  #message({ url, key }: Gateway, model: string, resources: Record<string, Resource>): RunMessage {
    const { rollout_id, run_id, input, task_id, step, mode, metadata, config } = this.#rollout;
    const { attempt_id } = this;
    return {
      type: 'run',
      rollout: { rollout_id, attempt_id, run_id, input, task_id, step, mode, metadata },
      trace_id: traceIdOf(attempt_id),
      llm: { endpoint: `${url}/rollout/${rollout_id}/attempt/${attempt_id}/v1`, model, api_key: key, sampling_parameters: config.sampling },
      resources: injected(resources),
      recorded: config.replay ? recordedOperations(this.#store.listSpans(config.replay.rollout_id, config.replay.attempt_id)) : [],
    };
  }
}

/** What the agent is given: an overlay of its source is in its process already. */
function injected(resources: Record<string, Resource>): RunMessage['resources'] {
  return Object.fromEntries(Object.entries(resources).flatMap(([name, resource]) => (resource.resource_type === 'source_overlay' ? [] : [[name, resource]])));
}
