import { relative, sep } from 'node:path';
import { z } from 'zod';
import type { TextDocument, Uri } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { detectAgents } from '../agents/detect.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import type { VSCode } from '../vscode.ts';
import type { Edit } from './edits.ts';
import { difference } from './edits.ts';
import { candidatesIn } from './candidates.ts';
import { planWrap, touchesBody, wrapped } from './plan.ts';
import { WrapRecords } from './records.ts';
import { recordWrap, unwrap } from './unwrap.ts';

const Argument = z.object({ uri: z.union([z.string(), z.looseObject({ scheme: z.string(), path: z.string() })]), line: z.number().int().min(0), name: z.string().optional() });
/** What names a function to the commands: its document, line (from 0) and name. */
export interface WrapArgument { uri: string; line: number; name?: string }

/** "Make trainable": marks a function as an agent. A change of more than its signature is shown first. */
export async function makeTrainable(services: Services, argument: unknown): Promise<void> {
  const { vscode, preview } = services;
  if (!mayRun(vscode)) return;
  const place = await placeOf(vscode, argument);
  if (place === undefined) return;
  const { document, line, name } = place;
  const { l10n, window } = vscode;
  const planNow = () => {
    const plan = planWrap(l10n, document.fileName, document.getText(), { line, name });
    if (plan.kind === 'refusal') throw new TrainerError('conflict', plan.reason);
    return plan;
  };
  const shown = planNow();
  if (touchesBody(shown)) {
    const question = l10n.t('Make {0} trainable? Its calls of the model will go to the model of the run.', shown.agent);
    if (!await preview.ask(document, wrapped(document.getText(), shown), question)) return;
  }
  const plan = planNow(); // the document may have been edited while the question was open
  const before = document.getText();
  await applyTo(vscode, document, plan.edits);
  const records = await recordsOf(services, document.uri);
  await records.book.put(records.file, recordWrap(records.book.of(records.file), before, plan.agent, plan.edits));
  await window.showTextDocument(document);
  if (plan.notes.length > 0) void window.showInformationMessage(plan.notes.join(' '));
}

/** "Make not trainable": gives an agent back what it was before it was wrapped. */
export async function makeNotTrainable(services: Services, argument: unknown): Promise<void> {
  const { vscode } = services;
  if (!mayRun(vscode)) return;
  const place = await placeOf(vscode, argument);
  if (place === undefined) return;
  const { document, line, name } = place;
  const { l10n } = vscode;
  const text = document.getText();
  const agents = detectAgents(document.fileName, text);
  const agent = agents.find((each) => each.name === name) ?? agents.findLast((each) => document.positionAt(each.from).line <= line);
  if (agent === undefined) throw new TrainerError('not_found', l10n.t('There is no agent at this place.'));
  const records = await recordsOf(services, document.uri);
  const record = records.book.of(records.file);
  if (record?.agents[agent.name] === undefined) throw new TrainerError('not_found', l10n.t('{0} was not made trainable here, so what it was before is not known. Remove rollout by hand.', agent.name));
  const unwrapping = unwrap(document.fileName, text, agent.name, record);
  if (unwrapping === null) throw new TrainerError('conflict', l10n.t('{0} has changed too much since it was made trainable. Remove rollout by hand.', agent.name));
  await applyTo(vscode, document, unwrapping.edits);
  await records.book.put(records.file, unwrapping.record);
  await vscode.window.showTextDocument(document);
}

/** The function that is meant: by the argument, else at the cursor. */
async function placeOf(vscode: VSCode, argument: unknown): Promise<{ document: TextDocument; line: number; name?: string | undefined } | undefined> {
  const given = Argument.safeParse(argument);
  if (given.success) {
    const uri = typeof given.data.uri === 'string' ? vscode.Uri.parse(given.data.uri) : vscode.Uri.from(given.data.uri);
    return { document: await vscode.workspace.openTextDocument(uri), line: given.data.line, name: given.data.name };
  }
  const { l10n, window } = vscode;
  const editor = window.activeTextEditor ?? window.visibleTextEditors[0];
  if (editor === undefined) throw new TrainerError('not_found', l10n.t('Open the file of a function that asks a model, put the cursor into the function and run the command again.'));
  const { document, selection } = editor;
  const offset = document.offsetAt(selection.active);
  const candidates = candidatesIn(document);
  const around = candidates.find(({ target }) => target.statement.from <= offset && offset <= target.node.to);
  if (around === undefined) return { document, line: selection.active.line };
  return { document, line: document.positionAt(around.target.at.from).line, name: around.target.name };
}

/** One undo step. Of an edit that replaces the whole text only what differs is touched, so that cursors stay. */
async function applyTo(vscode: VSCode, document: TextDocument, edits: readonly Edit[]): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  for (const { from, to, insert } of edits.flatMap((each) => narrowed(document.getText(), each))) {
    edit.replace(document.uri, new vscode.Range(document.positionAt(from), document.positionAt(to)), insert);
  }
  if (!await vscode.workspace.applyEdit(edit)) throw new TrainerError('conflict', vscode.l10n.t('The file could not be changed. It may be read-only, or it changed in the meantime; try again.'));
}

function narrowed(text: string, edit: Edit): Edit[] {
  const smaller = difference(text.slice(edit.from, edit.to), edit.insert);
  return smaller === null ? [] : [{ from: edit.from + smaller.from, to: edit.from + smaller.to, insert: smaller.insert }];
}

async function recordsOf({ workspaces, log }: Services, uri: Uri): Promise<{ book: WrapRecords; file: string }> {
  const { folder } = workspaces.of(uri);
  return { book: await WrapRecords.open(folder, (message) => { log.warn(message); }), file: relative(folder, uri.fsPath).split(sep).join('/') };
}
