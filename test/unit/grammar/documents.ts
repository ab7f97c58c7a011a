import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Expr } from '../../../trainer/grammar/expressions.ts';
import { JsonText } from '../../../trainer/grammar/json-text.ts';
import { schemaDocuments } from '../../../trainer/grammar/schema.ts';

export interface Documents { json: JsonText; start: Expr }

export function documentsOf(schema: unknown): Documents {
  const json = new JsonText();
  return { json, start: schemaDocuments(json, schema) };
}

/** Whether the grammar takes exactly this text. */
export function takes({ json: { algebra }, start }: Documents, text: string): boolean {
  return new TextEncoder().encode(text).reduce((state, byte) => algebra.after(state, byte), start).nullable;
}

/** A validator that follows every keyword and format. */
export function validator(schema: unknown): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  return ajv.compile(schema as object | boolean);
}

/** A text drawn byte by byte; null when it got longer than `limit`. Closing bytes are preferred once it is long. */
export function randomText({ json: { algebra }, start }: Documents, uniform: () => number, limit = 4000): string | null {
  const bytes: number[] = [];
  for (let state = start; ;) {
    const next = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => algebra.after(state, byte) !== algebra.none);
    if (state.nullable && (next.length === 0 || uniform() < 0.3)) return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    if (next.length === 0) throw new Error(`nothing may follow ${JSON.stringify(Buffer.from(bytes).toString())}`);
    const closing = next.filter((byte) => '"]}n'.includes(String.fromCharCode(byte)));
    const from = closing.length > 0 && uniform() < (bytes.length > 200 ? 0.9 : 0.2) ? closing : next;
    const byte = from[Math.floor(uniform() * from.length)] as number;
    bytes.push(byte);
    state = algebra.after(state, byte);
    if (bytes.length > limit) return null;
  }
}
