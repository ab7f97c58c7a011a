import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import type { Attempt } from '../protocol/rollout.ts';
import { Span } from '../protocol/span.ts';
import { parseAs } from '../protocol/validate.ts';
import { fromJson, type Context } from './context.ts';
import { readAttempt, settle } from './rollout-rows.ts';
import { isOpen } from './states.ts';
import { alive, sweep } from './watchdog.ts';

const Spans = z.array(Span);

function requireAttempt(context: Context, rollout_id: string, attempt_id: string): Attempt {
  const attempt = readAttempt(context, rollout_id, attempt_id);
  if (!attempt) throw new TrainerError('not_found', `There is no attempt ${attempt_id} of rollout ${rollout_id} to add spans to.`);
  return attempt;
}

/** The next place in the order of an attempt's spans: 1, 2, … whoever asks. */
export function nextSequenceId(context: Context, rollout_id: string, attempt_id: string): number {
  return context.write('normal', () => {
    const row = context.db.get('UPDATE attempts SET span_sequence = span_sequence + 1 WHERE rollout_id = ? AND attempt_id = ? RETURNING span_sequence', rollout_id, attempt_id);
    if (!row) throw new TrainerError('not_found', `There is no attempt ${attempt_id} of rollout ${rollout_id} to number spans of.`);
    return row.span_sequence as number;
  });
}

/** Stores all spans or, when one is malformed or of an unknown attempt, none. A span whose ids are known already is left as it was. */
export function addSpans(context: Context, spans: readonly Span[]): void {
  const parsed = parseAs(Spans, spans, 'A batch of spans');
  context.write('normal', () => {
    sweep(context);
    for (const batch of byAttempt(parsed)) addToAttempt(context, batch);
  });
}

function byAttempt(spans: Span[]): Span[][] {
  const batches = new Map<string, Span[]>();
  for (const span of spans) {
    const key = `${span.rollout_id}\n${span.attempt_id}`;
    const batch = batches.get(key);
    if (batch) batch.push(span);
    else batches.set(key, [span]);
  }
  return [...batches.values()];
}

function addToAttempt(context: Context, spans: Span[]): void {
  const { db } = context;
  const { rollout_id, attempt_id } = spans[0]!;
  const attempt = requireAttempt(context, rollout_id, attempt_id);
  const added = spans.filter((span) => db.run(
    `INSERT INTO spans (rollout_id, attempt_id, span_id, sequence_id, start_time, end_time, body) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (rollout_id, attempt_id, span_id) DO NOTHING`,
    rollout_id, attempt_id, span.span_id, span.sequence_id, span.start_time, span.end_time, JSON.stringify(span),
  ) > 0);
  const now = context.now();
  const highest = spans.reduce((most, span) => Math.max(most, span.sequence_id), 0);
  db.run('UPDATE attempts SET last_heartbeat_time = ?, span_sequence = max(span_sequence, ?) WHERE rollout_id = ? AND attempt_id = ?', now, highest, rollout_id, attempt_id);
  if (isOpen(attempt) && attempt.status !== 'running') settle(context, alive(attempt, now));
  if (added.length === 0) return;
  // Not the whole rollout: its input may be big, and this runs for every span.
  const { run_id } = db.get('SELECT run_id FROM rollouts WHERE rollout_id = ?', rollout_id)!;
  context.emit({ type: 'spans', run_id: run_id as string | null, spans: added });
}

/** Of the latest attempt unless told; by sequence id, then start, then end (a span still open last). */
export function listSpans({ db }: Context, rollout_id: string, attempt_id?: string): Span[] {
  const attempt = attempt_id ?? latestAttemptId({ db }, rollout_id);
  if (attempt === undefined) return [];
  return db.all('SELECT body FROM spans WHERE rollout_id = ? AND attempt_id = ? ORDER BY sequence_id, start_time, end_time IS NULL, end_time, position', rollout_id, attempt)
    .map(({ body }) => fromJson(body) as Span);
}

export function latestAttemptId({ db }: Pick<Context, 'db'>, rollout_id: string): string | undefined {
  return db.get('SELECT a.attempt_id FROM rollouts r JOIN attempts a ON a.rollout_id = r.rollout_id AND a.sequence_id = r.latest WHERE r.rollout_id = ?', rollout_id)?.attempt_id as string | undefined;
}

/** How many spans the latest attempt of each rollout has. */
export function countSpans({ db }: Context, rollout_ids: readonly string[]): Map<string, number> {
  const count = (rollout_id: string): number => Number(db.get(
    `SELECT count(*) AS spans FROM rollouts r JOIN attempts a ON a.rollout_id = r.rollout_id AND a.sequence_id = r.latest
     JOIN spans s ON s.rollout_id = r.rollout_id AND s.attempt_id = a.attempt_id WHERE r.rollout_id = ?`, rollout_id)!.spans);
  return new Map(rollout_ids.map((id) => [id, count(id)]));
}
