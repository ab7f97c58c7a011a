import type { Memento, SecretStorage } from 'vscode';
import { z } from 'zod';

/** An OpenAI-compatible server that the user entered; its key is kept apart. */
export interface Endpoint { url: string; name: string | undefined }

const Endpoints = z.array(z.object({ url: z.string(), name: z.string().optional() })).catch([]);
const stateKey = 'agentTrainer.endpoints';
const kept = 10;

/** The endpoints a user has entered, latest first. Keys are in the editor's secret storage, everything else in its state. */
export class EndpointBook {
  private readonly secrets: SecretStorage;
  private readonly state: Memento;

  constructor(secrets: SecretStorage, state: Memento) {
    this.secrets = secrets;
    this.state = state;
  }

  list(): Endpoint[] {
    return Endpoints.parse(this.state.get(stateKey)).map(({ url, name }) => ({ url, name }));
  }

  async remember(endpoint: Endpoint): Promise<void> {
    const others = this.list().filter(({ url, name }) => url !== endpoint.url || name !== endpoint.name);
    await this.state.update(stateKey, [endpoint, ...others].slice(0, kept));
  }

  /** undefined: it needs none. */
  async key(url: string): Promise<string | undefined> {
    return this.secrets.get(secretOf(url));
  }

  /** An empty key forgets the one there was. */
  async setKey(url: string, key: string): Promise<void> {
    if (key === '') await this.secrets.delete(secretOf(url));
    else await this.secrets.store(secretOf(url), key);
  }
}

function secretOf(url: string): string {
  return `agentTrainer.endpointKey:${url}`;
}
