import { existsSync } from 'node:fs';
import { t } from '../../trainer/protocol/l10n.ts';
import { messageOf, TrainerError } from '../../trainer/protocol/errors.ts';
import type { Log } from '../log.ts';
import type { NodeProgram } from './find-node.ts';
import type { Connection, RpcClient } from './rpc-client.ts';
import type { TrainerProcess } from './spawn-trainer.ts';
import { serverFileOf } from './state-folder.ts';

export type TrainerState =
  | { kind: 'stopped' }
  | { kind: 'starting' }
  | { kind: 'ready'; client: RpcClient; connection: Connection; process: TrainerProcess | null } // null: found running
  | { kind: 'failed'; message: string };

export interface SupervisorOptions {
  folder: string;
  /** The trainer's program, dist/trainer/cli.js of the extension. */
  cli: string;
  findNode: () => Promise<NodeProgram>;
  /** What a new connection needs before it is used: subscriptions, the known runs. */
  prepare: (client: RpcClient) => Promise<void>;
  /** The trainer is gone, and its runs with it. */
  onLost: () => void;
  log: Log;
}

/** Restarts after a crash, in a row, before it is left to the next command. */
const restartLimit = 3;
/** A trainer that lived as long has not failed at its start: its crash is the first of a row. */
const steadyAfterMilliseconds = 10 * 60_000;

/** Crashes in a row, with one of a trainer that had lived for so long. */
export function crashesInARow(before: number, livedMilliseconds: number): number { return livedMilliseconds >= steadyAfterMilliseconds ? 1 : before + 1; }

/** The trainer of one workspace folder: attached to if one is alive, else started; restarted after a crash. */
export class Supervisor {
  readonly folder: string;
  state: TrainerState = { kind: 'stopped' };
  onStateChanged: (state: TrainerState) => void = () => {};

  private readonly options: SupervisorOptions;
  private starting: Promise<RpcClient> | null = null;
  private restarts = 0;
  private disposed = false;

  constructor(options: SupervisorOptions) {
    this.options = options;
    this.folder = options.folder;
  }

  /** The connected client, starting a trainer if there is none. @throws TrainerError */
  client(): Promise<RpcClient> {
    if (this.state.kind === 'ready') return Promise.resolve(this.state.client);
    this.starting ??= this.start().finally(() => { this.starting = null; });
    return this.starting;
  }

  /** Connects to a trainer that is already there; starts none. */
  async attach(): Promise<boolean> {
    if (this.state.kind === 'ready') return true;
    if (this.starting !== null || !existsSync(serverFileOf(this.folder))) return false;
    const { findRunningTrainer } = await import('./handshake.ts');
    if (await findRunningTrainer(this.folder) === null) return false;
    await this.client();
    return true;
  }

  /** A further connection, for a view with a subscription of its own. @throws TrainerError */
  async connect(): Promise<RpcClient> {
    await this.client();
    if (this.state.kind !== 'ready') throw new TrainerError('environment', t('The trainer has just ended. Run the command again.'));
    const { connection } = this.state;
    const { RpcClient } = await import('./rpc-client.ts');
    return RpcClient.connect(connection);
  }

  /** Lets the trainer go. It ends by itself when this process does, unless a training run is active. */
  dispose(): void {
    this.disposed = true;
    if (this.state.kind === 'ready') this.state.client.close();
  }

  private async start(): Promise<RpcClient> {
    this.become({ kind: 'starting' });
    try {
      const { log } = this.options;
      const { openTrainer } = await import('./open-trainer.ts');
      const { client, connection, process } = await openTrainer(this.options);
      client.onBadFrame = (error) => { log.background('A message of the trainer was not understood', error); };
      const began = Date.now();
      client.onClose = () => { void this.lost(client, process, Date.now() - began); };
      await this.options.prepare(client);
      this.become({ kind: 'ready', client, connection, process });
      return client;
    } catch (error) {
      this.become(error instanceof TrainerError && error.code === 'cancelled' ? { kind: 'stopped' } : { kind: 'failed', message: messageOf(error) });
      throw error;
    }
  }

  private async lost(client: RpcClient, process: TrainerProcess | null, livedMilliseconds: number): Promise<void> {
    if (this.disposed || this.state.kind !== 'ready' || this.state.client !== client) return;
    const { log, onLost } = this.options;
    if (process === null) {
      // Someone else's: `agent-trainer train` in a terminal has ended, as a rule.
      this.become({ kind: 'stopped' });
      log.info(`The trainer found running in ${this.folder} has ended.`);
      onLost();
      return;
    }
    const message = t('The trainer of {0} {1}.', this.folder, await Promise.race([process.gone, afterMilliseconds(2000).then(() => t('closed the connection'))]));
    this.become({ kind: 'failed', message });
    onLost();
    this.restarts = crashesInARow(this.restarts, livedMilliseconds);
    if (this.restarts > restartLimit) {
      await log.toast(new TrainerError('environment', t('{0} It did so {1} times and is not started again by itself; the log says why.', message, this.restarts)));
      return;
    }
    void log.toast(new TrainerError('environment', t('{0} It is being started again; a training run that was active can be resumed.', message)));
    await this.client().catch((error: unknown) => { log.background('The trainer could not be started again', error); });
  }

  private become(state: TrainerState): void {
    this.state = state;
    this.onStateChanged(state);
  }
}

function afterMilliseconds(milliseconds: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, milliseconds).unref(); });
}
