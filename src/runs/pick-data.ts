import { relative } from 'node:path';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { VSCode } from '../vscode.ts';

const pattern = '**/*.{jsonl,parquet,csv}';
const skipped = '**/{node_modules,.git,.venv,venv,dist,.agent-trainer}/**';

/** A data set near the agent, chosen by the user if there are several. undefined: none chosen. @throws TrainerError 'not_found' */
export async function pickDataFile(vscode: VSCode, folder: string, root: string): Promise<string | undefined> {
  const { l10n, RelativePattern, window, workspace } = vscode;
  let files = await workspace.findFiles(new RelativePattern(folder, pattern), skipped, 200);
  if (files.length === 0) files = await workspace.findFiles(new RelativePattern(root, pattern), skipped, 200);
  if (files.length === 0) throw new TrainerError('not_found', l10n.t('No tasks were found in {0}. Put them into a .jsonl file, one JSON object a line, and run the command again.', root));
  const paths = files.map((file) => file.fsPath).sort();
  if (paths.length === 1) return paths[0];
  const items = paths.map((path) => ({ label: relative(folder, path), path }));
  return (await window.showQuickPick(items, { title: l10n.t('Which tasks?') }))?.path;
}
