import path from 'node:path';
import type { Gateway } from '../gateway/gateway.ts';
import type { Provider } from '../protocol/providers.ts';
import type { RunPhase } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';
import type { RunControl } from './run-control.ts';
import type { Searches } from './searches.ts';

/** What every run works with. */
export interface RunContext {
  store: Store;
  gateway: Gateway;
  /** Address of the gateway on the loopback interface, without a path. */
  gatewayUrl: string;
  /** What agents must present to the gateway. */
  gatewayKey: string;
  workspace: string;
}

/** What a run needs beyond that, from whoever asks for it. */
export interface RunSecrets {
  /** Of an account at the Hugging Face hub, as a client has given it; in memory alone. */
  hubToken(): string | null;
}

/** One run while it runs. */
export interface Session extends RunContext, RunSecrets {
  run_id: string;
  /** Folder of the run's files. */
  folder: string;
  /** Pause, and the number of runners. */
  control: RunControl;
  /** Where a search for prompts makes itself reachable. */
  searches: Searches;
  /** What the request wants the engine to run on. */
  provider: Provider | undefined;
  /** Aborted by cancel and by the end of the trainer. */
  signal: AbortSignal;
}

export function runFolder(workspace: string, run_id: string): string {
  return path.join(workspace, '.agent-trainer', 'runs', run_id);
}

export function setPhase(session: Session, phase: RunPhase): void {
  session.store.updateRun(session.run_id, { phase });
}

export function notice(session: Session, level: 'info' | 'warning', message: string): void {
  session.store.notice(session.run_id, level, message);
}
