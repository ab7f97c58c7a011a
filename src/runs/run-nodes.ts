import { basename } from 'node:path';
import { t } from '../../trainer/protocol/l10n.ts';
import type { Checkpoint, Run, RunKind } from '../../trainer/protocol/run.ts';
import { agentName } from '../views/charts-view.ts';
import { duration, nothing, number } from '../views/format.ts';
import { isResumable, runHeader, statusText } from '../views/run-header.ts';
import { searchOutcome } from '../views/prompts/search-result.ts';
import { fromExamples } from '../views/step-view.ts';
import { resultFacts, stepsAskedFor } from '../views/training-view.ts';
import { isActive } from './run-book.ts';
import type { RunEntry } from './run-book.ts';

/** A line of the Runs view, ready to be drawn. */
export interface RunsNode {
  key: string;
  label: string;
  description: string;
  tooltip: string;
  icon: { id: string; color?: string } | null;
  /** Words for the `when` clauses of menus. */
  context: string;
  expands: boolean;
  run: RunNode | null;
  /** Of a checkpoint: its folder. */
  path: string | null;
}

/** What a command gets to know of the run it is called on. */
export interface RunNode { folder: string; run_id: string; kind: RunKind }

/** The run a command was called on: by a line of the tree, or by what its click passes on. */
export function runOf(argument: unknown): RunNode | null {
  if (typeof argument !== 'object' || argument === null) return null;
  if ('run_id' in argument && 'folder' in argument) return argument as RunNode;
  return 'run' in argument ? runOf(argument.run) : null;
}

/** The runs of the selected lines, when the command was called on a selection. */
export function runsOf(selected: unknown): RunNode[] {
  return Array.isArray(selected) ? selected.flatMap((each: unknown) => runOf(each) ?? []) : [];
}

const icons: Record<Run['status'] | 'paused', { id: string; color?: string }> = {
  pending: { id: 'watch' },
  running: { id: 'sync~spin', color: 'charts.blue' },
  paused: { id: 'debug-pause', color: 'charts.yellow' },
  succeeded: { id: 'pass', color: 'charts.green' },
  failed: { id: 'error', color: 'errorForeground' },
  cancelled: { id: 'circle-slash' },
  interrupted: { id: 'warning', color: 'charts.yellow' },
};
const kinds = (): Record<RunKind, string> => ({ train: t('training'), dev: t('dry run'), eval: t('evaluation'), optimize: t('prompt search') });

export function runNode(folder: string, entry: RunEntry): RunsNode {
  const { run } = entry;
  const { status, title, error } = runHeader(run);
  return {
    key: `${folder} ${run.run_id}`,
    label: agentName(run.agent),
    description: [kinds()[run.kind], progressText(entry), new Date(run.create_time * 1000).toLocaleString([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })].filter((part) => part !== '').join(' · '),
    tooltip: [title, statusText(run), ...(error === null ? [] : [error]), run.run_id].join('\n'),
    icon: icons[status],
    context: ['run', run.kind, isActive(run) ? 'active' : 'ended', ...(status === 'paused' || run.pause === 'pausing' ? ['paused'] : []), ...(isResumable(run) ? ['resumable'] : [])].join(' '),
    expands: true,
    run: { folder, run_id: run.run_id, kind: run.kind },
    path: null,
  };
}

/** What the run has brought so far: the held-out comparison, a mean reward, or how far it is. */
function progressText({ run, steps }: RunEntry): string {
  if (run.kind === 'optimize') return searchOutcome(run);
  const [result] = resultFacts(run);
  if (result !== undefined) return t('reward {0}', result.value);
  const total = stepsAskedFor(run);
  if (isActive(run) && run.kind === 'train' && total !== null && steps.length > 0) return t('step {0} of {1}', steps.length, total);
  return isActive(run) ? '' : statusText(run).toLocaleLowerCase();
}

/** Lines under a run: outcome, checkpoints, configuration. */
export function detailNodes(folder: string, { run, steps }: RunEntry, checkpoints: readonly Checkpoint[]): RunsNode[] {
  const line = (key: string, label: string, description: string, icon: string, more: Partial<RunsNode> = {}): RunsNode => ({
    key: `${folder} ${run.run_id} ${key}`, label, description, tooltip: `${label}: ${description}`, icon: { id: icon }, context: '', expands: false, run: null, path: null, ...more,
  });
  const last = steps.at(-1);
  return [
    line('status', statusText(run), run.end_time === null ? '' : duration(run.end_time - run.create_time), 'info', { tooltip: run.error ?? statusText(run) }),
    ...resultFacts(run).map((fact) => line(`fact ${fact.label}`, fact.label, `${fact.value}${fact.note === '' ? '' : ` (${fact.note})`}`, 'graph')),
    ...(last === undefined ? [] : [line('last', t('Step {0}', last.step + 1), fromExamples(steps) ? t('loss {0}', number(last.loss, 3)) : t('reward {0} · entropy {1}', number(last.reward_mean, 3), number(last.entropy, 2)), 'graph-line')]),
    ...[...checkpoints].reverse().map((checkpoint) => line(`checkpoint ${checkpoint.step}`, t('Checkpoint after step {0}', checkpoint.step + 1), checkpointNote(checkpoint), checkpoint.best ? 'star-full' : 'save', { path: checkpoint.folder, context: 'checkpoint', tooltip: checkpoint.folder })),
    line('config', t('Configuration'), '', 'settings-gear', { expands: true, context: 'config' }),
  ];
}

function checkpointNote({ folder, val_reward, best }: Checkpoint): string {
  if (val_reward === null) return basename(folder);
  return best ? t('{0} · best validation reward {1}', basename(folder), number(val_reward, 3)) : t('{0} · validation reward {1}', basename(folder), number(val_reward, 3));
}

/** The run's complete configuration, a line for each setting. */
export function configNodes(folder: string, { run }: RunEntry): RunsNode[] {
  return flatten(run.config).map(([name, value]) => ({
    key: `${folder} ${run.run_id} config ${name}`, label: name, description: value, tooltip: `${name} = ${value}`, icon: null, context: 'setting', expands: false, run: null, path: null,
  }));
}

/** { grpo: { lr: 1 } } → [['grpo.lr', '1']] */
export function flatten(value: unknown, prefix = ''): [name: string, value: string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[prefix, value === null || value === undefined ? nothing : typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, prefix === '' ? key : `${prefix}.${key}`));
}
