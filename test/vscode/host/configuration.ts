import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { until } from '../poll.ts';

const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const text = '{\n  "agent": "greeter.py:greet",\n  "data": { "train": "tasks.jsonl", "trian": 1 },\n  "model": { "path": "model" },\n  "grpo": { "steps": "many" },\n  \n}\n';

describe('agent-trainer.json in the editor', () => {
  const file = vscode.Uri.file(join(folder, 'sub', 'agent-trainer.json'));

  before(async () => {
    await vscode.workspace.fs.createDirectory(vscode.Uri.joinPath(file, '..'));
    writeFileSync(file.fsPath, text);
    await vscode.window.showTextDocument(file);
  });

  after(async () => {
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    await vscode.workspace.fs.delete(vscode.Uri.joinPath(file, '..'), { recursive: true });
  });

  it('marks a field that is not known and a value that does not fit', async () => {
    await until(() => vscode.languages.getDiagnostics(file).length >= 2);
    const problems = vscode.languages.getDiagnostics(file).map(({ message, range }) => `${range.start.line + 1}: ${message}`);
    assert.ok(problems.some((problem) => /^3: .*trian/.test(problem)), problems.join('\n'));
    assert.ok(problems.some((problem) => /^5: .*[Ii]ncorrect type/.test(problem)), problems.join('\n'));
  });

  it('offers the fields that may follow, with what they mean', async () => {
    let items: vscode.CompletionItem[] = [];
    await until(async () => {
      ({ items } = await vscode.commands.executeCommand<vscode.CompletionList>('vscode.executeCompletionItemProvider', file, new vscode.Position(5, 2), undefined, 30));
      return items.some(({ label }) => label === 'seed');
    });
    const labels = items.map(({ label }) => (typeof label === 'string' ? label : label.label));
    for (const field of ['algorithm', 'runner', 'sampling', 'seed']) assert.ok(labels.includes(field), labels.join(', '));
    assert.ok(!labels.includes('agent'), 'what is there already is not offered again');
  });
});
