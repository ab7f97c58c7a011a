/** The `vscode` module is passed in as an argument; everywhere else only its types are imported. */
export type VSCode = typeof import('vscode');
