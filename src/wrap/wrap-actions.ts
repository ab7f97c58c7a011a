import type { CodeAction, CodeActionProvider, Range, TextDocument } from 'vscode';
import { detectAgents } from '../agents/detect.ts';
import { commands } from '../ids.ts';
import type { VSCode } from '../vscode.ts';
import { candidatesIn } from './candidates.ts';
import { functionOfAgent, functionsOf } from './functions.ts';
import { parseSource } from '../../trainer/source/syntax.ts';
import type { WrapArgument } from './wrap-command.ts';

/** "Make trainable" in a function that asks a model, "Make not trainable" in an agent. */
export class WrapActions implements CodeActionProvider {
  private readonly vscode: VSCode;

  constructor(vscode: VSCode) {
    this.vscode = vscode;
  }

  provideCodeActions(document: TextDocument, range: Range): CodeAction[] {
    const { l10n, workspace } = this.vscode;
    if (!workspace.isTrusted) return [];
    const from = document.offsetAt(range.start);
    const covers = (node: { from: number; to: number }): boolean => node.from <= from && from <= node.to;
    const actions = candidatesIn(document).filter(({ target }) => covers({ from: target.statement.from, to: target.node.to })).map(({ target, plan }) => {
      const { line } = document.positionAt(target.at.from);
      const action = this.action(l10n.t('Make {0} trainable', target.name), commands.makeTrainable, { uri: document.uri.toString(), line, name: target.name });
      const planned = plan(l10n);
      if (planned.kind === 'refusal') action.disabled = { reason: planned.reason };
      return action;
    });
    return [...actions, ...this.unwrapping(document, from)];
  }

  private unwrapping(document: TextDocument, offset: number): CodeAction[] {
    const text = document.getText();
    const agents = detectAgents(document.fileName, text);
    const source = agents.length === 0 ? null : parseSource(document.fileName, text);
    if (source === null) return [];
    const functions = functionsOf(source);
    return agents.flatMap((agent) => {
      const target = functionOfAgent(source, functions, agent);
      if (target === undefined || offset < Math.min(agent.from, target.statement.from) || offset > target.node.to) return [];
      return [this.action(this.vscode.l10n.t('Make {0} not trainable', agent.name), commands.makeNotTrainable, { uri: document.uri.toString(), line: document.positionAt(agent.from).line, name: agent.name })];
    });
  }

  private action(title: string, command: string, argument: WrapArgument): CodeAction {
    const action = new this.vscode.CodeAction(title, this.vscode.CodeActionKind.RefactorRewrite);
    action.command = { title, command, arguments: [argument] };
    return action;
  }
}
