import type { CancellationTokenSource, LanguageModelChatMessage } from 'vscode';
import { messageOf } from '../../trainer/protocol/errors.ts';
import type { Answer, Ask } from '../../trainer/protocol/endpoints.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import type { VSCode } from '../vscode.ts';
import { completionOf, editorMessages, editorTools, type EditorPart } from './editor-messages.ts';

/** Answers what the trainer asks of the editor's language models, as long as the connection lives. */
export function answerAsks(vscode: VSCode, client: RpcClient): void {
  const open = new Map<number, CancellationTokenSource>();
  client.onAskOver = (ask_id) => { open.get(ask_id)?.cancel(); };
  client.onAsk = (ask) => {
    const cancel = new vscode.CancellationTokenSource();
    open.set(ask.ask_id, cancel);
    outcomeOf(vscode, ask, cancel)
      .then((outcome) => client.call('models.answer', { ask_id: ask.ask_id, outcome }))
      .catch(() => undefined) // the trainer gave up on it, or is gone: nobody waits
      .finally(() => {
        open.delete(ask.ask_id);
        cancel.dispose();
      });
  };
}

async function outcomeOf(vscode: VSCode, { model: id, request }: Ask['ask'], cancel: CancellationTokenSource): Promise<Answer['outcome']> {
  try {
    const [model] = await vscode.lm.selectChatModels({ id });
    if (model === undefined) return { error: { status: 404, message: vscode.l10n.t('VS Code has no language model {0} any more. Choose another one.', id), code: 'model_not_found' } };
    const tools = editorTools(request);
    const response = await model.sendRequest(editorMessages(request.messages).map((message) => toMessage(vscode, message)), {
      justification: vscode.l10n.t('Agent Trainer runs the agent you chose with this model.'), ...(tools.length > 0 ? { tools } : {}),
    }, cancel.token);
    let text = '';
    const calls: { id: string; name: string; input: object }[] = [];
    for await (const part of response.stream) {
      if (part instanceof vscode.LanguageModelTextPart) text += part.value;
      else if (part instanceof vscode.LanguageModelToolCallPart) calls.push({ id: part.callId, name: part.name, input: part.input });
    }
    return { completion: completionOf(model.name, text, calls) };
  } catch (error) {
    return { error: { status: error instanceof vscode.LanguageModelError ? 403 : 502, message: vscode.l10n.t('The language model of VS Code did not answer: {0}', messageOf(error)) } };
  }
}

function toMessage(vscode: VSCode, { role, parts }: { role: 'user' | 'assistant'; parts: EditorPart[] }): LanguageModelChatMessage {
  if (role === 'assistant') {
    return vscode.LanguageModelChatMessage.Assistant(parts.map((part) => (part.kind === 'call' ? new vscode.LanguageModelToolCallPart(part.id, part.name, part.input) : new vscode.LanguageModelTextPart(part.text))));
  }
  return vscode.LanguageModelChatMessage.User(parts.map((part) => {
    const text = new vscode.LanguageModelTextPart(part.kind === 'call' ? '' : part.text);
    return part.kind === 'result' ? new vscode.LanguageModelToolResultPart(part.id, [text]) : text;
  }));
}
