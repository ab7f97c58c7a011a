import type { Kept } from '../../trainer/protocol/views.ts';

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; setState(state: unknown): void };

/** Connects a page with the extension: typed both ways. Says it is ready, and is then sent everything. */
export function connect<To extends { type: string }, From extends { type: string }>(receive: (message: To) => void): (message: From) => void {
  const host = acquireVsCodeApi();
  window.addEventListener('message', (event: MessageEvent<To & { keep?: Kept | null }>) => {
    if (event.data.keep !== undefined && event.data.keep !== null) host.setState(event.data.keep);
    receive(event.data);
  });
  const send = (message: From): void => { host.postMessage(message); };
  host.postMessage({ type: 'ready' });
  return send;
}
