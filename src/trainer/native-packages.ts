import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExtensionContext } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Log } from '../log.ts';
import type { VSCode } from '../vscode.ts';
import type { NodeProgram } from './find-node.ts';

/**
 * The native packages beside the trainer's program. A package of the extension for one platform has them; the universal one says
 * in `dist/native` what to install, and installs it into the extension's storage when the user agrees.
 */
export class NativePackages {
  private readonly vscode: VSCode;
  private readonly log: Log;
  private readonly dist: string;
  private readonly storage: string;
  private providing: Promise<void> | null = null;

  constructor(vscode: VSCode, { extensionPath, globalStorageUri }: Pick<ExtensionContext, 'extensionPath' | 'globalStorageUri'>, log: Log) {
    this.vscode = vscode;
    this.log = log;
    this.dist = join(extensionPath, 'dist');
    this.storage = globalStorageUri.fsPath;
  }

  /** Whether a trainer can be started without asking for anything. */
  get isReady(): boolean {
    return existsSync(join(this.dist, 'node_modules')) || !existsSync(join(this.dist, 'native'));
  }

  /** Installs what is missing, if the user agrees. @throws TrainerError 'cancelled', or 'environment' when it cannot be installed */
  provide(node: NodeProgram): Promise<void> {
    if (this.isReady) return Promise.resolve();
    this.providing ??= this.install(node).finally(() => { this.providing = null; });
    return this.providing;
  }

  private async install(node: NodeProgram): Promise<void> {
    const { l10n, window, ProgressLocation } = this.vscode;
    const { downloadSize, installPackages, installedPackages, linkPackages } = await import('./install-packages.ts');
    const from = join(this.dist, 'native');
    let folder = await installedPackages(from, this.storage);
    if (folder === null) {
      const size = l10n.t('{0} MB', Math.ceil(await downloadSize(from) / 1e6));
      const install = l10n.t('Install');
      const detail = l10n.t('onnxruntime-node (computes), libsql (stores) and esbuild (compiles TypeScript), each pinned to one version and checked. npm downloads about {0} from its registry into {1}. Nothing of your workspace leaves this machine.', size, this.storage);
      if (await window.showInformationMessage(l10n.t('Install the native packages of the trainer?'), { modal: true, detail }, install) !== install) {
        throw new TrainerError('cancelled', l10n.t('The trainer was not started: its native packages are not installed.'));
      }
      const options = { location: ProgressLocation.Notification, cancellable: true, title: l10n.t('Installing the native packages of the trainer ({0})…', size) };
      folder = await window.withProgress(options, (_progress, token) => {
        const abort = new AbortController();
        token.onCancellationRequested(() => { abort.abort(); });
        return installPackages({ l10n, from, storage: this.storage, node, signal: abort.signal, log: (line) => { this.log.info(`[npm] ${line}`); } });
      });
    }
    await linkPackages(l10n, folder, this.dist);
    this.log.info(`The native packages of the trainer are in ${folder}`);
  }
}
