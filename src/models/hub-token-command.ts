import type { Services } from '../services.ts';

/** "Set Hugging Face Token": asks for it; trainers that run hear of it, others when they start. */
export async function setHubToken({ vscode, hubToken }: Services): Promise<void> {
  const { l10n, window } = vscode;
  const token = await window.showInputBox({
    title: l10n.t('Hugging Face Token'), placeHolder: l10n.t('hf_…'), password: true, ignoreFocusOut: true,
    prompt: l10n.t('From huggingface.co/settings/tokens, with the right to read. Kept in the secret storage of VS Code. Leave it empty to forget it.'),
    validateInput: (text) => (/^[!-~]*$/.test(text.trim()) ? null : l10n.t('A token has no spaces and no characters beyond ASCII')),
  });
  if (token === undefined) return;
  await hubToken.set(token.trim());
  void window.showInformationMessage(token.trim() === '' ? l10n.t('The Hugging Face token is forgotten.') : l10n.t('The Hugging Face token is kept. Downloads use it from now on.'));
}
