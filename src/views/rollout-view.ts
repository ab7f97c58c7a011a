import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { Detail, RolloutHead, RolloutState, Section } from '../../trainer/protocol/trace-views.ts';
import { clip, number, oneLine, shortDuration } from './format.ts';

export interface Logs { stdout: string; stderr: string }

const outcomeWords: Record<string, string> = {
  unscored: 'no reward', agent_error: 'agent error', infra_error: 'trainer error', timeout: 'timed out', cancelled: 'cancelled', context_overflow: 'context overflow',
};

/** A rollout as a line of the tree. `loaded`: its spans are known. */
export function rolloutHead(rollout: AttemptedRollout, loaded: boolean): RolloutHead {
  const { attempt, metadata } = rollout;
  const state = stateOf(rollout);
  const origin = metadata?.['replay_of'] as { rollout_id?: unknown } | undefined;
  const replay_of = typeof origin?.rollout_id === 'string' ? origin.rollout_id : null;
  return {
    rollout_id: rollout.rollout_id,
    title: `${replay_of === null ? '' : 'Replay: '}${taskTitle(rollout.input)}`,
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
  const time = head.start === null ? null : head.end === null ? 'still running' : shortDuration(head.end - head.start);
  return {
    title: head.title,
    facts: [head.note === head.state ? head.state : `${head.state} ${head.note}`, ...(time === null ? [] : [time])].join(' · '),
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

function noteOf({ status, attempt }: AttemptedRollout, state: RolloutState): string {
  if (state === 'scored') return number(attempt?.reward ?? null, 3);
  if (state === 'waiting') return status === 'requeuing' ? 'waiting to retry' : 'waiting';
  if (state === 'running') return 'running';
  return outcomeWords[attempt?.outcome ?? ''] ?? state;
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
  return oneLine(JSON.stringify(input) ?? 'task');
}

function sectionsOf(rollout: AttemptedRollout, logs: Logs | null): Section[] {
  const { attempt } = rollout;
  const sections: Section[] = [];
  if (attempt?.error != null) sections.push({ kind: 'text', title: 'Error', tone: 'error', text: clip(attempt.error) });
  sections.push({ kind: 'text', title: 'Task', tone: 'plain', text: clip(typeof rollout.input === 'string' ? rollout.input : JSON.stringify(rollout.input, null, 2)) });
  if (logs !== null && logs.stdout !== '') sections.push({ kind: 'text', title: 'Standard output', tone: 'plain', text: clip(logs.stdout) });
  if (logs !== null && logs.stderr !== '') sections.push({ kind: 'text', title: 'Standard error', tone: 'plain', text: clip(logs.stderr) });
  const fields: [string, string][] = [['rollout', rollout.rollout_id], ['status', rollout.status]];
  if (attempt !== null) fields.push(['attempt', `${attempt.attempt_id}, number ${attempt.sequence_id}`], ['outcome', attempt.outcome ?? 'none yet']);
  if (rollout.mode !== null) fields.push(['mode', rollout.mode]);
  if (rollout.step !== null) fields.push(['step', String(rollout.step + 1)]);
  sections.push({ kind: 'fields', title: 'Rollout', fields });
  return sections;
}
