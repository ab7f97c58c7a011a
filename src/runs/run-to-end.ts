import type { CancellationToken } from 'vscode';
import { t } from '../../trainer/protocol/l10n.ts';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { RpcParams } from '../../trainer/protocol/rpc.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { isActive } from './run-book.ts';
import type { RunBook } from './run-book.ts';

export interface Followed { book: RunBook; token: CancellationToken; onRollout?: (rollout: AttemptedRollout) => void }

/**
 * Starts a run and resolves with how it ended; a cancelled token cancels it. `client`: a connection of its own, whose events this takes.
 * @throws TrainerError when the run cannot start, or the trainer is lost
 */
export async function runToEnd(client: RpcClient, request: RpcParams<'runs.start'>, { book, token, onRollout }: Followed): Promise<Run> {
  let run_id: string | null = null;
  let over: (run: Run) => void = () => {};
  const ended = new Promise<Run>((resolve, reject) => {
    over = resolve;
    client.onClose = () => { reject(new TrainerError('environment', t('The trainer ended under this run. Run it again.'))); };
  });
  ended.catch(() => undefined); // a call that fails with it says as much
  await client.call('events.subscribe', { types: ['run', 'rollout'] });
  client.onEvent = (event) => {
    if (event.type === 'rollout' && event.run_id === run_id) onRollout?.(event.rollout);
    if (event.type === 'run' && event.run.run_id === run_id && !isActive(event.run)) over(event.run);
  };
  const started = await client.call('runs.start', request);
  run_id = started.run_id;
  book.begin(started);
  const cancel = (): void => { client.call('runs.cancel', { run_id: started.run_id }).catch(() => undefined); }; // it may have ended just now
  const onCancel = token.onCancellationRequested(cancel);
  if (token.isCancellationRequested) cancel();
  try {
    const { run } = await client.call('runs.get', { run_id }); // it may have ended before its events were told apart
    return isActive(run) ? await ended : run;
  } finally {
    onCancel.dispose();
  }
}
