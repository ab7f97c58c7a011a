import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { RolloutState, RolloutView, Section, SpanView } from '../../trainer/protocol/views.ts';
import { clip, number, oneLine } from './format.ts';

export interface Logs { stdout: string; stderr: string }

const outcomeWords: Record<string, string> = {
  unscored: 'no reward', agent_error: 'agent error', infra_error: 'trainer error', timeout: 'timed out', cancelled: 'cancelled', context_overflow: 'context overflow',
};

/** A rollout as the trace page draws it. `spans` null: not loaded. */
export function rolloutView(rollout: AttemptedRollout, spans: SpanView[] | null, logs: Logs | null): RolloutView {
  const { attempt } = rollout;
  const state = stateOf(rollout);
  return {
    rollout_id: rollout.rollout_id,
    title: taskTitle(rollout.input),
    state,
    note: noteOf(rollout, state),
    start: attempt?.start_time ?? null,
    end: attempt?.end_time ?? null,
    spans,
    sections: sectionsOf(rollout, logs),
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
