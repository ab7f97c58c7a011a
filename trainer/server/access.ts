import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;

/**
 * Why a request must be refused, or null. A web page can point its own name at 127.0.0.1 (DNS rebinding): then Host is
 * that name. A page that calls us directly carries an Origin that is not ours.
 */
export function refusalOf(headers: IncomingHttpHeaders): string | null {
  const host = headers.host ?? '';
  if (!loopback.test(host)) return `The host "${host}" is not this trainer's. Use the address in its server.json.`;
  const { origin } = headers;
  if (origin !== undefined && origin !== `http://${host}`) return `Web pages of ${origin} may not use this trainer.`;
  return null;
}

/** The token a request carries: bearer header, or the `bearer.` subprotocol of a WebSocket. */
export function tokenOf(headers: IncomingHttpHeaders): string | null {
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const subprotocol = headers['sec-websocket-protocol']?.split(',').map((each) => each.trim()).find((each) => each.startsWith('bearer.'));
  return bearer ?? subprotocol?.slice('bearer.'.length) ?? null;
}

/** Compares without telling by its duration how much of the secret was right. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
