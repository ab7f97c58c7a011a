/** What translates a message: `vscode.l10n`, or in a plain process one that only fills in {0}, {1} …. */
export interface Translator { t(message: string, ...values: (string | number | boolean)[]): string }
