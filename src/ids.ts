/** Ids that the manifest (package.json) names too; a test compares the two. */
export const commands = {
  train: 'agentTrainer.train',
  dryRun: 'agentTrainer.dryRun',
  openTraining: 'agentTrainer.openTraining',
  openTrace: 'agentTrainer.openTrace',
  openTraceFile: 'agentTrainer.openTraceFile',
  stopRun: 'agentTrainer.stopRun',
  showLog: 'agentTrainer.showLog',
} as const;

export const settings = { nodePath: 'agentTrainer.nodePath' } as const;

export const panels = { training: 'agentTrainer.training', trace: 'agentTrainer.trace' } as const;
