import { dirname, sep } from 'node:path';
import { placeOf } from './call-site.ts';
import { partsOf } from './span.ts';

/** One line: type, message and the place in the agent's own code. */
export function describeError(error: unknown, agentFile: string): string {
  const { type, message, stack } = partsOf(error);
  const text = `${type}: ${message.length > 1000 ? `${message.slice(0, 1000)}…` : message}`;
  const place = ownPlace(stack, agentFile);
  return place && !message.includes(place) ? `${text} (${place})` : text;
}

function ownPlace(stack: string, agentFile: string): string | null {
  const folder = dirname(agentFile) + sep;
  const places = stack.split('\n').filter((line) => /^\s+at /.test(line)).map(placeOf).filter((place) => place !== null);
  const own = places.find(({ file }) => file.startsWith(folder) && !file.includes(`${sep}node_modules${sep}`));
  return own ? `${own.file}:${own.line}` : null;
}
