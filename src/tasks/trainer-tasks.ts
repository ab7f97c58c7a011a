import type { Task, WorkspaceFolder } from 'vscode';
import { z } from 'zod';
import { findConfigs } from '../runs/config-file.ts';
import type { CoreServices } from '../services.ts';
import type { NodeProgram } from '../trainer/find-node.ts';
import { taskType } from './register-tasks.ts';

/** As in the manifest: one command of the trainer on a configuration, whose path is relative to the workspace folder. */
const Definition = z.object({ type: z.literal(taskType), command: z.enum(['train', 'eval', 'dev']), config: z.string() });
type Definition = z.infer<typeof Definition>;

const problemMatcher = '$agent-trainer';

/** A task of each command for each configuration. None while the user would have to be asked for something. */
export async function allTasks(core: CoreServices): Promise<Task[]> {
  const { vscode: { workspace }, workspaces } = core;
  if (!workspace.isTrusted || !workspaces.canStart) return [];
  const configs = await findConfigs(core.vscode);
  if (configs.length === 0) return [];
  const node = await workspaces.nodeForTrainer();
  return configs.flatMap((file) => {
    const folder = workspace.getWorkspaceFolder(file);
    if (folder === undefined) return [];
    const config = workspace.asRelativePath(file, false);
    return Definition.shape.command.options.map((command) => taskOf(core, { type: taskType, command, config }, folder, node));
  });
}

/** A task that the user wrote into tasks.json, with what it runs. undefined: it is not complete. */
export async function completeTask(core: CoreServices, { definition, scope }: Task): Promise<Task | undefined> {
  const { workspace } = core.vscode;
  const parsed = Definition.safeParse(definition);
  const folder = typeof scope === 'object' ? scope : workspace.workspaceFolders?.[0];
  if (!parsed.success || folder === undefined || !workspace.isTrusted) return undefined;
  const task = taskOf(core, parsed.data, folder, await core.workspaces.nodeForTrainer());
  task.definition = definition; // VS Code knows the task by this very object
  return task;
}

function taskOf({ vscode, workspaces }: CoreServices, definition: Definition, folder: WorkspaceFolder, node: NodeProgram): Task {
  const { l10n, ProcessExecution, Task, TaskGroup } = vscode;
  const { command, config } = definition;
  const cwd = folder.uri.fsPath;
  const task = new Task(definition, folder, `${command} ${config}`, taskType, new ProcessExecution(node.path, [workspaces.cli, '--workspace', cwd, command, config], { cwd, env: node.environment }), problemMatcher);
  task.detail = { train: l10n.t('Train the model by reinforcement learning'), eval: l10n.t('Evaluate on the validation tasks'), dev: l10n.t('Dry run on a few training tasks') }[command];
  if (command === 'eval') task.group = TaskGroup.Test;
  return task;
}
