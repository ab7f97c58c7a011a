import { t } from '../../trainer/protocol/l10n.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { Detail, RolloutHead, RolloutState, Section } from '../../trainer/protocol/trace-views.ts';
import { clip, number, oneLine, shortDuration } from './format.ts';

export interface Logs { stdout: string; stderr: string }

function outcomeWord(outcome: string | null | undefined, otherwise: string): string {
  switch (outcome) {
    case 'unscored': return t('no reward');
    case 'agent_error': return t('agent error');
    case 'infra_error': return t('trainer error');
    case 'timeout': return t('timed out');
    case 'cancelled': return t('cancelled');
    case 'context_overflow': return t('context overflow');
    default: return otherwise;
  }
}

/** A rollout as a line of the tree. `loaded`: its spans are known. */
export function rolloutHead(rollout: AttemptedRollout, loaded: boolean): RolloutHead {
  const { attempt, metadata } = rollout;
  const state = stateOf(rollout);
  const origin = metadata?.['replay_of'] as { rollout_id?: unknown } | undefined;
  const replay_of = typeof origin?.rollout_id === 'string' ? origin.rollout_id : null;
  return {
    rollout_id: rollout.rollout_id,
    title: replay_of === null ? taskTitle(rollout.input) : t('Replay: {0}', taskTitle(rollout.input)),
    state,
    note: noteOf(rollout, state),
    reward: state === 'scored' ? attempt?.reward ?? null : null,
    start: attempt?.start_time ?? null,
    end: attempt?.end_time ?? null,
    loaded,
    replay_of,
  };
}

export function rolloutDetail(rollout: AttemptedRollout, logs: Logs | null): Detail {
  const head = rolloutHead(rollout, true);
  const time = head.start === null ? null : head.end === null ? t('still running') : shortDuration(head.end - head.start);
  return {
    title: head.title,
    facts: [head.note === stateWord(head.state) ? head.note : `${stateWord(head.state)} ${head.note}`, ...(time === null ? [] : [time])].join(' · '),
    sections: sectionsOf(rollout, logs),
    source: null, curl: false, replay: false, compare: true,
  };
}

function stateOf({ status, attempt }: AttemptedRollout): RolloutState {
  if (status === 'cancelled' || attempt?.outcome === 'cancelled') return 'cancelled';
  if (status === 'queuing' || status === 'requeuing' || status === 'preparing') return 'waiting';
  if (status === 'running') return 'running';
  if (attempt?.outcome === 'scored') return 'scored';
  return attempt?.outcome === 'unscored' ? 'unscored' : 'failed';
}

/** A state in words. */
function stateWord(state: RolloutState): string {
  switch (state) {
    case 'waiting': return t('waiting');
    case 'running': return t('running');
    case 'scored': return t('scored');
    case 'unscored': return t('unscored');
    case 'failed': return t('failed');
    case 'cancelled': return t('cancelled');
  }
}

function noteOf({ status, attempt }: AttemptedRollout, state: RolloutState): string {
  if (state === 'scored') return number(attempt?.reward ?? null, 3);
  if (state === 'waiting') return status === 'requeuing' ? t('waiting to retry') : stateWord(state);
  if (state === 'running') return stateWord(state);
  return outcomeWord(attempt?.outcome, stateWord(state));
}

/** The most telling text of a task: its question or prompt, else its JSON. */
export function taskTitle(input: unknown): string {
  if (typeof input === 'string') return oneLine(input);
  if (typeof input === 'object' && input !== null) {
    for (const key of ['question', 'prompt', 'query', 'instruction', 'input', 'text', 'title', 'id']) {
      const value = (input as Record<string, unknown>)[key];
      if (typeof value === 'string' && value !== '') return oneLine(value);
    }
  }
  return oneLine(JSON.stringify(input) ?? t('task'));
}

function sectionsOf(rollout: AttemptedRollout, logs: Logs | null): Section[] {
  const { attempt } = rollout;
  const sections: Section[] = [];
  if (attempt?.error != null) sections.push({ kind: 'text', title: t('Error'), tone: 'error', text: clip(attempt.error) });
  sections.push({ kind: 'text', title: t('Task'), tone: 'plain', text: clip(typeof rollout.input === 'string' ? rollout.input : JSON.stringify(rollout.input, null, 2)) });
  if (logs !== null && logs.stdout !== '') sections.push({ kind: 'text', title: t('Standard output'), tone: 'plain', text: clip(logs.stdout) });
  if (logs !== null && logs.stderr !== '') sections.push({ kind: 'text', title: t('Standard error'), tone: 'plain', text: clip(logs.stderr) });
  const fields: [string, string][] = [[t('rollout'), rollout.rollout_id], [t('status'), rollout.status]];
  if (attempt !== null) fields.push([t('attempt'), t('{0}, number {1}', attempt.attempt_id, attempt.sequence_id)], [t('outcome'), attempt.outcome ?? t('none yet')]);
  if (rollout.mode !== null) fields.push([t('mode'), rollout.mode]);
  if (rollout.step !== null) fields.push([t('step'), String(rollout.step + 1)]);
  sections.push({ kind: 'fields', title: t('Rollout'), fields });
  return sections;
}
