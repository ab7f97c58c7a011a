export const scriptFile = /\.([cm]?)(ts|js)(x?)$/;

/** The languages whose files can hold agents, as file extensions. */
export const agentFileExtensions = ['py', 'ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'] as const;

export function isAgentFile(fileName: string): boolean {
  return fileName.endsWith('.py') || (scriptFile.test(fileName) && !/\.d\.[cm]?ts$/.test(fileName));
}
