/** Ids that the manifest (package.json) names too; a test compares the two. */
export const commands = {
  train: 'agentTrainer.train',
  dryRun: 'agentTrainer.dryRun',
  openTraining: 'agentTrainer.openTraining',
  openTrace: 'agentTrainer.openTrace',
  stopRun: 'agentTrainer.stopRun',
  showLog: 'agentTrainer.showLog',
  refreshAgents: 'agentTrainer.refreshAgents',
} as const;

export const settings = { nodePath: 'agentTrainer.nodePath' } as const;

export const views = { agents: 'agentTrainer.agents' } as const;

export const panels = { training: 'agentTrainer.training', trace: 'agentTrainer.trace' } as const;
