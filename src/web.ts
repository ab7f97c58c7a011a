import * as vscode from 'vscode';
import { explainOnUse } from './unsupported.ts';

/** Entry in a browser without a server (vscode.dev, github.dev). */
export function activate(context: vscode.ExtensionContext): void {
  explainOnUse(vscode, context);
}
