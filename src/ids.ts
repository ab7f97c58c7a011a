/** Ids that the manifest (package.json) names too; a test compares the two. */
export const commands = {
  train: 'agentTrainer.train',
  dryRun: 'agentTrainer.dryRun',
  openTraining: 'agentTrainer.openTraining',
  openTrace: 'agentTrainer.openTrace',
  openRun: 'agentTrainer.openRun',
  compareRuns: 'agentTrainer.compareRuns',
  pauseRun: 'agentTrainer.pauseRun',
  resumeRun: 'agentTrainer.resumeRun',
  exportRun: 'agentTrainer.exportRun',
  deleteRun: 'agentTrainer.deleteRun',
  revealCheckpoint: 'agentTrainer.revealCheckpoint',
  copyCheckpointPath: 'agentTrainer.copyCheckpointPath',
  openTraceFile: 'agentTrainer.openTraceFile',
  stopRun: 'agentTrainer.stopRun',
  showLog: 'agentTrainer.showLog',
  dryRunWith: 'agentTrainer.dryRunWith',
  checkEndpoint: 'agentTrainer.checkEndpoint',
  setHubToken: 'agentTrainer.setHubToken',
  debugRollout: 'agentTrainer.debugRollout',
  showLatestRollout: 'agentTrainer.showLatestRollout',
  refreshAgents: 'agentTrainer.refreshAgents',
  makeTrainable: 'agentTrainer.makeTrainable',
  openTaskTrace: 'agentTrainer.openTaskTrace',
  makeNotTrainable: 'agentTrainer.makeNotTrainable',
  optimizePrompt: 'agentTrainer.optimizePrompt',
  reviewPrompt: 'agentTrainer.reviewPrompt',
  openPrompts: 'agentTrainer.openPrompts',
  applyChange: 'agentTrainer.applyChange',
  discardChange: 'agentTrainer.discardChange',
} as const;

export const settings = { nodePath: 'agentTrainer.nodePath', annotations: 'agentTrainer.annotations.enabled', passThreshold: 'agentTrainer.testing.passThreshold' } as const;

/** Tools for language models. */
export const tools = { listAgents: 'agentTrainer_listAgents', dryRun: 'agentTrainer_dryRun', explainReward: 'agentTrainer_explainReward' } as const;

/** Views, as in package.json. */
export const views = { agents: 'agentTrainer.agents', runs: 'agentTrainer.runs', prompts: 'agentTrainer.prompts' } as const;

/** Context keys of our own, for `when` clauses. */
export const contexts = { unsupported: 'agentTrainer.unsupported', previewing: 'agentTrainer.previewing' } as const;

export const panels = { training: 'agentTrainer.training', trace: 'agentTrainer.trace', prompts: 'agentTrainer.promptsPanel' } as const;

