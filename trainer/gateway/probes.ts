import { createHash } from 'node:crypto';
import type { EndpointCapabilities, ProbeRequest } from '../protocol/endpoints.ts';
import { probeEndpoint } from './probe.ts';

/** Remembers what endpoints can do while the trainer lives. Failures are not remembered. */
export class Probes {
  readonly #known = new Map<string, Promise<EndpointCapabilities>>();

  /** Throws TrainerError 'upstream' when nobody answers. */
  get({ refresh, ...endpoint }: ProbeRequest): Promise<EndpointCapabilities> {
    const key = keyOf(endpoint);
    const known = refresh ? undefined : this.#known.get(key);
    if (known) return known;
    const probe = probeEndpoint(endpoint);
    this.#known.set(key, probe);
    const forget = (): void => { if (this.#known.get(key) === probe) this.#known.delete(key); };
    probe.then(({ chat }) => { if (chat.state !== 'yes') forget(); }, forget);
    return probe;
  }
}

/** The key of the endpoint decides what it answers; only its hash is kept. */
function keyOf({ url, name, api_key }: Omit<ProbeRequest, 'refresh'>): string {
  return JSON.stringify([url, name, createHash('sha256').update(api_key ?? '').digest('hex')]);
}
