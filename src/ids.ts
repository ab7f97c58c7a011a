/** Ids that the manifest (package.json) names too; a test compares the two. */
export const commands = {
  train: 'agentTrainer.train',
  dryRun: 'agentTrainer.dryRun',
  openTraining: 'agentTrainer.openTraining',
  openTrace: 'agentTrainer.openTrace',
  stopRun: 'agentTrainer.stopRun',
  showLog: 'agentTrainer.showLog',
  makeTrainable: 'agentTrainer.makeTrainable',
  makeNotTrainable: 'agentTrainer.makeNotTrainable',
} as const;

export const settings = { nodePath: 'agentTrainer.nodePath' } as const;

export const panels = { training: 'agentTrainer.training', trace: 'agentTrainer.trace' } as const;
