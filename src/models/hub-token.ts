import type { SecretStorage } from 'vscode';

/** The token of the user's account at the Hugging Face hub, in the editor's secret storage. */
export class HubToken {
  private readonly secrets: SecretStorage;

  constructor(secrets: SecretStorage) { this.secrets = secrets; }

  /** null: there is none. */
  async get(): Promise<string | null> { return await this.secrets.get(key) ?? null; }

  /** An empty token forgets the one there was. */
  async set(token: string): Promise<void> {
    if (token === '') await this.secrets.delete(key);
    else await this.secrets.store(key, token);
  }

  /** Also of changes in other windows. */
  onChanged(listener: () => void): { dispose(): void } { return this.secrets.onDidChange((event) => { if (event.key === key) listener(); }); }
}

const key = 'agentTrainer.hubToken';
