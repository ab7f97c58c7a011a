import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { text } from './span-attributes.ts';

/**
 * An LLM call as a command for a shell of the POSIX kind. The key is never in it: `$OPENAI_API_KEY` stands for it.
 * `baseUrl` null: the address is not known outside the trainer, and `$OPENAI_BASE_URL` stands for it.
 */
export function curlOf(span: Span, baseUrl: string | null): string {
  const body = {
    model: text(span, attr.requestModel) ?? '',
    messages: parsed(text(span, attr.inputMessages)) ?? [],
    ...(parsed(text(span, attr.toolDefinitions)) === undefined ? {} : { tools: parsed(text(span, attr.toolDefinitions)) }),
    ...(parsed(text(span, attr.requestedParameters)) as object | undefined ?? {}),
  };
  const address = baseUrl === null ? '"$OPENAI_BASE_URL/chat/completions"' : quoted(`${baseUrl.replace(/\/+$/, '')}/chat/completions`);
  return [
    `curl -sS ${address}`,
    `-H ${quoted('content-type: application/json')}`,
    '-H "authorization: Bearer $OPENAI_API_KEY"',
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

function parsed(json: string | null): unknown {
  if (json === null) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
