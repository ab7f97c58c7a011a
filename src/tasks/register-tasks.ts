import type { Disposable } from 'vscode';
import type { CoreServices } from '../services.ts';

/** As in the manifest. */
export const taskType = 'agent-trainer';

/** Runs, trains and evaluates in a terminal: tasks for each agent-trainer.json, and those the user wrote. */
export function registerTasks(core: CoreServices): Disposable {
  return core.vscode.tasks.registerTaskProvider(taskType, {
    provideTasks: async () => (await import('./trainer-tasks.ts')).allTasks(core),
    resolveTask: async (task) => (await import('./trainer-tasks.ts')).completeTask(core, task),
  });
}
