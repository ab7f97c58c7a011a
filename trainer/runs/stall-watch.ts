import type { Run } from '../protocol/run.ts';
import type { RunContext } from './session.ts';

const minute = 60_000;

type Watched = Pick<RunContext, 'store' | 'gateway'>;

/** Says what a run waits for when nothing of it has moved for `quietMs`, and again after each further one. A paused run waits for nothing. */
export class StallWatch {
  readonly #context: Watched;
  readonly #run_id: string;
  readonly #quietMs: number;
  readonly #unsubscribe: () => void;
  #moved = Date.now();
  #told = false;
  #timer: NodeJS.Timeout;

  constructor(context: Watched, run_id: string, quietMs = minute) {
    this.#context = context;
    this.#run_id = run_id;
    this.#quietMs = quietMs;
    this.#unsubscribe = context.store.onEvent((event) => {
      const of = event.type === 'run' ? event.run.run_id : event.run_id;
      if (of === run_id && event.type !== 'notice') this.#move();
    });
    this.#timer = this.#after(quietMs);
  }

  end(): void {
    this.#unsubscribe();
    clearTimeout(this.#timer);
  }

  #move(): void {
    const quiet = Date.now() - this.#moved;
    this.#moved = Date.now();
    if (!this.#told) return;
    this.#told = false;
    this.#context.store.notice(this.#run_id, 'info', `Going on after ${minutes(quiet)} min.`, null);
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), milliseconds).unref();
  }

  #look(): void {
    const quiet = Date.now() - this.#moved;
    const run = this.#context.store.getRun(this.#run_id);
    if (!run) return;
    const stalled = quiet >= this.#quietMs && run.pause !== 'paused';
    if (stalled) this.#tell(run, quiet);
    this.#timer = this.#after(quiet < this.#quietMs ? this.#quietMs - quiet : this.#quietMs);
  }

  #tell(run: Run, quiet: number): void {
    const { on, detail } = waitingFor(this.#context, run);
    this.#told = true;
    this.#context.store.notice(run.run_id, 'warning', `Waiting on ${on} for ${minutes(quiet)} min: ${detail}.`, { on, since: this.#moved / 1000 });
  }
}

/** What would have to happen next for the run to go on. */
export function waitingFor({ store, gateway }: Watched, { run_id, phase }: Pick<Run, 'run_id' | 'phase'>): { on: string; detail: string } {
  const running = store.listRollouts({ run_id, status_in: ['preparing', 'running'] });
  const [oldest] = running;
  if (oldest) {
    const ids = new Set(running.map((rollout) => rollout.rollout_id));
    const calls = gateway.openCalls().filter((call) => call.rollout_id !== null && ids.has(call.rollout_id));
    if (calls[0]) return { on: 'the model', detail: `${count(calls.length, 'LLM call')} not answered yet, the oldest of rollout ${calls[0].rollout_id}` };
    return { on: 'the agent', detail: `${count(running.length, 'rollout')} under way without a call to the model, the oldest ${oldest.rollout_id}` };
  }
  const waiting = store.listRollouts({ run_id, status_in: ['queuing', 'requeuing'] }).length;
  if (waiting > 0) return { on: 'an agent process', detail: `${count(waiting, 'rollout')} queued and no process takes one` };
  if (phase === 'training') return { on: 'the policy update', detail: 'all rollouts of the step have ended' };
  if (phase === 'searching') return { on: 'the optimiser', detail: 'no rollout is under way' };
  return { on: phase === 'starting' ? 'the model and the agent to load' : 'the trainer', detail: 'no rollout is under way' };
}

const minutes = (milliseconds: number): number => Math.max(1, Math.round(milliseconds / minute));

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
