import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { RpcMethod, RpcParams, RpcResult } from '../../trainer/protocol/rpc.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { TraceBook } from '../views/trace-book.ts';
import type { Change } from '../views/trace-book.ts';
import type { Workspace } from '../workspace.ts';

/** Up to this many rollouts are loaded with their spans at once; of longer lists, as they are opened. */
const eagerLimit = 50;

export interface FollowEvents { changed(change: Change): void; failed(what: string, error: unknown): void }

/** A run as the trace panel follows it, with subscriptions of its own. */
export interface Following {
  workspace: Workspace;
  run_id: string;
  step: number | null;
  book: TraceBook;
  /** Its trainer has gone: nothing of it arrives any more, and nothing can be asked. */
  readonly isLost: boolean;
  /** Subscribes, then lists what is there already: nothing falls between the two. `open`: to be loaded in any case. */
  begin(open: string | null): Promise<void>;
  load(rollout_id: string): Promise<void>;
  /** Follows a run that continues a rollout of this one, beside it. */
  addReplay(run: Run): Promise<void>;
  call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>>;
  end(): void;
}

export function followRun(workspace: Workspace, run_id: string, step: number | null, events: FollowEvents): Following {
  const runs = new Set([run_id]);
  const clients: RpcClient[] = [];
  let over = false;
  let lost = false;
  const book: TraceBook = new TraceBook((rollout) => {
    if (rollout.run_id === null || !runs.has(rollout.run_id)) return false;
    return rollout.run_id === run_id ? step === null || rollout.step === step : book.has(originOf(rollout) ?? '');
  });

  async function subscribe(id: string): Promise<RpcClient | null> {
    const client = await workspace.supervisor.connect();
    if (over) {
      client.close();
      return null;
    }
    clients.push(client);
    client.onClose = () => { lost = !over; };
    client.onEvent = (event) => {
      const change = book.apply(event);
      if (change.heads.length > 0 || change.spans.length > 0) events.changed(change);
      for (const ended of change.ended) if (book.ids.length <= eagerLimit) void load(ended);
    };
    await client.call('events.subscribe', { run_id: id, types: ['rollout', 'spans'] });
    return client;
  }

  async function load(rollout_id: string): Promise<void> {
    try {
      const trace = await clients[0]?.call('trace.get', { rollout_id });
      if (trace === undefined || over) return;
      book.load(trace.rollout, trace.spans, { stdout: trace.stdout, stderr: trace.stderr });
      events.changed({ heads: [rollout_id], ended: [], reset: [rollout_id], spans: [] });
    } catch (error) {
      if (!over) events.failed(`The trace of ${rollout_id} could not be read`, error);
    }
  }

  async function addReplay(run: Run): Promise<void> {
    runs.add(run.run_id);
    const client = run.status === 'running' || run.status === 'pending' ? await subscribe(run.run_id) : clients[0];
    if (client == null) return;
    const rollouts = await client.call('rollouts.list', { run_id: run.run_id });
    book.list(rollouts);
    await Promise.all(rollouts.filter(({ rollout_id }) => book.has(rollout_id)).map(({ rollout_id }) => load(rollout_id)));
  }

  return {
    workspace, run_id, step, book, load, addReplay,
    get isLost() { return lost; },
    async begin(open) {
      const client = await subscribe(run_id);
      if (client === null) return;
      book.list(await client.call('rollouts.list', step === null ? { run_id } : { run_id, step }));
      const wanted = book.ids.length <= eagerLimit ? book.ids : open === null ? [] : [open];
      await Promise.all(wanted.map(load));
      for (const { run } of workspace.book.list().reverse()) if (originRunOf(run) === run_id) await addReplay(run);
    },
    async call(method, params) {
      return (clients[0] ?? await workspace.client()).call(method, params);
    },
    end() {
      over = true;
      for (const client of clients) client.close();
    },
  };
}

function originOf(rollout: AttemptedRollout): string | null {
  const origin = rollout.metadata?.['replay_of'] as { rollout_id?: unknown } | undefined;
  return typeof origin?.rollout_id === 'string' ? origin.rollout_id : null;
}

export function isReplayOf(rollout: AttemptedRollout | undefined, rollout_id: string): boolean {
  return rollout !== undefined && originOf(rollout) === rollout_id;
}

function originRunOf(run: Run): string | null {
  const origin = (run.config as { replay_of?: { run_id?: unknown } } | null)?.replay_of;
  return typeof origin?.run_id === 'string' ? origin.run_id : null;
}
