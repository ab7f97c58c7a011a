import { TrainerError } from '../protocol/errors.ts';
import { fromJson, toJson, type Context } from './context.ts';
import { readAttempt } from './rollout-rows.ts';
import { latestAttemptId } from './spans.ts';

export type LogStream = 'stdout' | 'stderr';
export interface Logs { stdout: string; stderr: string }

/** Characters kept of each stream of an attempt: an agent that prints in a loop must not fill the disk. */
export const keptCharacters = 1 << 20;

/** Adds what an attempt printed. What exceeds `keptCharacters` is counted, not kept. */
export function appendLog(context: Context, rollout_id: string, attempt_id: string, stream: LogStream, text: string): void {
  context.write('normal', () => {
    if (!readAttempt(context, rollout_id, attempt_id)) throw new TrainerError('not_found', `There is no attempt ${attempt_id} of rollout ${rollout_id} to log for.`);
    const before = Number(context.db.get('SELECT coalesce(sum(length), 0) AS length FROM logs WHERE rollout_id = ? AND attempt_id = ? AND stream = ?', rollout_id, attempt_id, stream)!.length);
    if (before >= keptCharacters) {
      // The last row's length counts on: one row however much more comes.
      context.db.run(
        'UPDATE logs SET length = length + ? WHERE position = (SELECT max(position) FROM logs WHERE rollout_id = ? AND attempt_id = ? AND stream = ?)',
        text.length, rollout_id, attempt_id, stream,
      );
      return;
    }
    context.db.run('INSERT INTO logs (rollout_id, attempt_id, stream, length, text) VALUES (?, ?, ?, ?, ?)', rollout_id, attempt_id, stream, text.length, toJson(text.slice(0, keptCharacters - before), 'A log'));
  });
}

/** What an attempt (the latest unless told) printed; a last line says how much was not kept. */
export function getLogs(context: Context, rollout_id: string, attempt_id?: string): Logs {
  const attempt = attempt_id ?? latestAttemptId(context, rollout_id);
  const read = (stream: LogStream): string => {
    if (attempt === undefined) return '';
    const rows = context.db.all('SELECT length, text FROM logs WHERE rollout_id = ? AND attempt_id = ? AND stream = ? ORDER BY position', rollout_id, attempt, stream);
    const kept = rows.map(({ text }) => fromJson(text) as string).join('');
    const lost = rows.reduce((sum, { length }) => sum + Number(length), 0) - kept.length;
    return lost > 0 ? `${kept}\n[${lost} more characters were not kept]\n` : kept;
  };
  return { stdout: read('stdout'), stderr: read('stderr') };
}
