import type { LogOutputChannel } from 'vscode';
import { messageOf, TrainerError } from '../trainer/protocol/errors.ts';
import { commands } from './ids.ts';
import type { VSCode } from './vscode.ts';

/**
 * Failures by kind. What a user asked for raises one toast with a way to the log; what happened in the background
 * goes to the log alone. A cancellation is neither.
 */
export class Log {
  private readonly vscode: VSCode;
  readonly channel: LogOutputChannel;

  constructor(vscode: VSCode) {
    this.vscode = vscode;
    this.channel = vscode.window.createOutputChannel('Agent Trainer', { log: true });
  }

  info(message: string): void { this.channel.info(message); }
  warn(message: string): void { this.channel.warn(message); }

  /** A failure nobody waits for. */
  background(what: string, error: unknown): void {
    this.channel.error(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }

  /** A failure of something the user asked for. */
  async toast(error: unknown): Promise<void> {
    if (error instanceof TrainerError && error.code === 'cancelled') return;
    this.channel.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const showLog = this.vscode.l10n.t('Show log');
    const choice = await this.vscode.window.showErrorMessage(messageOf(error), showLog);
    if (choice === showLog) await this.vscode.commands.executeCommand(commands.showLog);
  }
}
