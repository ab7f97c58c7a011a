import { dirname } from 'node:path';
import { nearestConfig } from '../runs/config-file.ts';
import { pickDataFile } from '../runs/pick-data.ts';
import { trainingData } from '../runs/training-data.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';

/** The configuration near an agent, and its tasks: as configured, else as last time, else as the user chooses. undefined: none chosen. */
export async function chooseTasks({ vscode }: Services, workspace: Workspace, file: string, reference: string): Promise<{ config: string | null; data: string } | undefined> {
  const config = nearestConfig(file, workspace.folder);
  const configured = config === null ? null : await trainingData(config);
  const data = configured ?? (await workspace.state()).lastDryRun(reference)?.data ?? await pickDataFile(vscode, dirname(file), workspace.folder);
  return data === undefined ? undefined : { config, data };
}

/** A whole number from 1 to `most`, as the user types it. undefined: given up. */
export async function askNumber({ l10n, window }: Services['vscode'], { title, value, most }: { title: string; value: number; most: number }): Promise<number | undefined> {
  const answer = await window.showInputBox({
    title, value: String(value), ignoreFocusOut: true,
    validateInput: (text) => (/^\s*\d+\s*$/.test(text) && Number(text) >= 1 && Number(text) <= most ? null : l10n.t('A number from 1 to {0}', most)),
  });
  return answer === undefined ? undefined : Number(answer);
}
