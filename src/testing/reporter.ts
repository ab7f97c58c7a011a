import type { Location, TestItem, TestMessage, TestRun } from 'vscode';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { settings } from '../ids.ts';
import type { Services } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { answerOf } from '../views/answer.ts';
import { compact } from '../views/format.ts';
import { contextOf } from './rollout-context.ts';
import { placeInError, verdictOf } from './verdict.ts';
import type { Verdict } from './verdict.ts';

const ended = new Set(['succeeded', 'failed', 'cancelled']);

/** Tells a test run what became of the tasks of one agent. Each is reported once. */
export class Reporter {
  private readonly services: Services;
  private readonly run: TestRun;
  private readonly root: TestItem;
  private readonly threshold: number;
  /** By task id: those without a verdict. */
  private readonly open: Map<string, TestItem>;
  private readonly reports: Promise<void>[] = [];

  constructor(services: Services, run: TestRun, root: TestItem, items: readonly TestItem[]) {
    const { vscode } = services;
    this.services = services;
    this.run = run;
    this.root = root;
    this.threshold = vscode.workspace.getConfiguration(undefined, vscode.Uri.file(root.id)).get<number>(settings.passThreshold, 1);
    this.open = new Map(items.map((item) => [item.id, item]));
    for (const item of items) run.enqueued(item);
  }

  /** What is heard of a rollout while the run goes on. */
  heard(client: RpcClient, rollout: AttemptedRollout): void {
    const item = this.open.get(rollout.task_id ?? '');
    if (item === undefined) return;
    if (rollout.status === 'running') this.run.started(item);
    // One that failed outside the agent is tried again: what became of it shows at the end.
    else if (ended.has(rollout.status) && rollout.attempt?.outcome !== 'infra_error') this.report(client, item, rollout);
  }

  /** The run is over: what was not heard of is told by its rollout, the latest of its task, or else by `error`. */
  async finish(client: RpcClient, rollouts: readonly AttemptedRollout[], error: string | null): Promise<void> {
    const latest = new Map(rollouts.map((rollout) => [rollout.task_id ?? '', rollout]));
    for (const [task_id, item] of [...this.open]) {
      const rollout = latest.get(task_id);
      if (rollout !== undefined && ended.has(rollout.status)) this.report(client, item, rollout);
    }
    await Promise.all(this.reports);
    if (error === null) this.skipRest();
    else this.failRest(error);
  }

  /** Nothing more can be known of the tasks that have no verdict. */
  failRest(error: string): void {
    for (const item of this.open.values()) this.run.errored(item, this.message(error, null));
    this.open.clear();
  }

  private skipRest(): void {
    for (const item of this.open.values()) this.run.skipped(item);
    this.open.clear();
  }

  private report(client: RpcClient, item: TestItem, rollout: AttemptedRollout): void {
    this.open.delete(item.id);
    this.reports.push(this.tell(client, item, rollout));
  }

  private async tell(client: RpcClient, item: TestItem, rollout: AttemptedRollout): Promise<void> {
    const { vscode } = this.services;
    const { attempt } = rollout;
    const judge = (answer: string | null): Verdict => verdictOf(rollout, answer, this.threshold, (text, ...values) => vscode.l10n.t(text, ...values));
    let verdict = judge(null);
    if (verdict.kind === 'failed' && verdict.difference !== null) verdict = judge(await this.answerIn(client, rollout.rollout_id));
    const milliseconds = attempt?.end_time == null ? undefined : (attempt.end_time - attempt.start_time) * 1000;
    switch (verdict.kind) {
      case 'passed': this.run.passed(item, milliseconds); break;
      case 'failed': this.run.failed(item, this.message(verdict.message, rollout, verdict.difference), milliseconds); break;
      case 'errored': this.run.errored(item, this.message(verdict.message, rollout), milliseconds); break;
      case 'skipped': this.run.skipped(item); break;
    }
    const said = verdict.kind === 'passed' ? vscode.l10n.t('reward {0}', compact(verdict.reward)) : verdict.kind === 'skipped' ? vscode.l10n.t('cancelled') : verdict.message;
    this.run.appendOutput(`${item.label}: ${said}\n`.replaceAll('\n', '\r\n'), undefined, item);
  }

  private async answerIn(client: RpcClient, rollout_id: string): Promise<string | null> {
    try {
      return answerOf((await client.call('trace.get', { rollout_id })).spans);
    } catch (error) {
      this.services.log.background(`The trace of ${rollout_id} could not be read`, error);
      return null;
    }
  }

  private message(text: string, rollout: AttemptedRollout | null, difference: { expected: string; actual: string } | null = null): TestMessage {
    const { TestMessage } = this.services.vscode;
    const message = difference === null ? new TestMessage(text) : TestMessage.diff(text, difference.expected, difference.actual);
    const location = this.locationOf(text);
    if (location !== undefined) message.location = location;
    if (rollout?.run_id != null) message.contextValue = contextOf(rollout.run_id, rollout.rollout_id);
    return message;
  }

  /** Of an error that names it, the line; else the agent's. */
  private locationOf(text: string): Location | undefined {
    const { vscode } = this.services;
    const place = placeInError(text);
    if (place !== null) return new vscode.Location(vscode.Uri.file(place.file), new vscode.Position(place.line - 1, 0));
    return this.root.uri === undefined ? undefined : new vscode.Location(this.root.uri, this.root.range ?? new vscode.Position(0, 0));
  }
}
