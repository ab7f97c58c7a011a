import type { StatusBarItem } from 'vscode';
import { t } from '../trainer/protocol/l10n.ts';
import { commands } from './ids.ts';
import { number } from './views/format.ts';
import { runHeader } from './views/run-header.ts';
import { stepsAskedFor } from './views/training-view.ts';
import type { RunEntry } from './runs/run-book.ts';
import type { VSCode } from './vscode.ts';
import type { Workspaces } from './workspaces.ts';

/** What the status bar says: a function of the trainers and runs of the window. */
export type BarState =
  | { kind: 'hidden' }
  | { kind: 'starting' }
  | { kind: 'idle' }
  | { kind: 'running'; entry: RunEntry; more: number }
  | { kind: 'failed'; message: string };

export function barState(workspaces: { supervisor: { state: { kind: string; message?: string } }; book: { active(): RunEntry[] } }[]): BarState {
  const active = workspaces.flatMap((workspace) => workspace.book.active());
  if (active[0] !== undefined) return { kind: 'running', entry: active[0], more: active.length - 1 };
  const kinds = workspaces.map((workspace) => workspace.supervisor.state);
  if (kinds.some((state) => state.kind === 'starting')) return { kind: 'starting' };
  const failed = kinds.find((state) => state.kind === 'failed');
  if (failed !== undefined) return { kind: 'failed', message: failed.message ?? '' };
  return kinds.some((state) => state.kind === 'ready') ? { kind: 'idle' } : { kind: 'hidden' };
}

/** The text of the bar item, with its icon. */
export function barText(state: BarState, now = Date.now() / 1000): string {
  switch (state.kind) {
    case 'hidden': return '';
    case 'starting': return `$(sync~spin) ${t('Trainer starting')}`;
    case 'idle': return '$(rocket) Agent Trainer';
    case 'failed': return '$(error) Agent Trainer';
    case 'running': return `${runningText(state.entry, now)}${state.more > 0 ? ` +${state.more}` : ''}`;
  }
}

function runningText({ run, steps, waiting }: RunEntry, now: number): string {
  if (waiting !== null) return `$(watch) ${t('Waiting on {0} for {1} min', waiting.on, Math.max(1, Math.round((now - waiting.since) / 60)))}`;
  return run.pause === 'paused' ? `$(debug-pause) ${t('Paused: {0}', workText({ run, steps }))}` : `$(sync~spin) ${workText({ run, steps })}`;
}

function workText({ run, steps }: Pick<RunEntry, 'run' | 'steps'>): string {
  const total = stepsAskedFor(run);
  const reward = steps.at(-1)?.reward_mean ?? null;
  if (run.phase !== 'training' || total === null) return run.kind === 'dev' ? t('Dry run') : run.kind === 'eval' ? t('Evaluating') : t('Training: preparing');
  return `${t('Training {0}/{1}', steps.length, total)}${reward === null ? '' : ` · ${t('reward {0}', number(reward, 2))}`}`;
}

export function createStatusBar(vscode: VSCode, workspaces: Workspaces): { dispose(): void } {
  const item: StatusBarItem = vscode.window.createStatusBarItem('agentTrainer.status', vscode.StatusBarAlignment.Left, 0);
  item.name = 'Agent Trainer';
  const draw = (): void => {
    const state = barState(workspaces.all());
    if (state.kind === 'hidden') {
      item.hide();
      return;
    }
    item.text = barText(state);
    item.tooltip = state.kind === 'failed' ? state.message : state.kind === 'running' ? `${runHeader(state.entry.run).title}: ${runHeader(state.entry.run).statusText}` : vscode.l10n.t('Open the training panel');
    item.command = state.kind === 'failed' ? commands.showLog : state.kind === 'running' && state.entry.run.kind === 'dev' ? commands.openTrace : commands.openTraining;
    item.backgroundColor = state.kind === 'failed' ? new vscode.ThemeColor('statusBarItem.errorBackground') : undefined;
    item.show();
  };
  const subscription = workspaces.onChanged(draw);
  draw();
  return { dispose: () => { subscription.dispose(); item.dispose(); } };
}
