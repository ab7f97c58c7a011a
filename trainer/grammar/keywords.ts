import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';

const count = z.number().int().min(0).max(1e9);
const bound = z.number();
const subschema = z.unknown();
const Type = z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
export type Type = z.infer<typeof Type>;

/** What a schema may say to be followed. */
const assertions = {
  type: z.union([Type, z.array(Type).min(1)]),
  enum: z.array(z.unknown()).min(1),
  const: z.unknown(),
  $ref: z.string(),
  anyOf: z.array(subschema).min(1),
  oneOf: z.array(subschema).min(1),
  allOf: z.array(subschema).length(1, 'may hold one schema only; write what several require into one'),
  properties: z.record(z.string(), subschema),
  required: z.array(z.string()),
  additionalProperties: subschema,
  items: subschema,
  prefixItems: z.array(subschema),
  minItems: count,
  maxItems: count,
  minLength: count,
  maxLength: count,
  pattern: z.string(),
  format: z.string(),
  minimum: bound,
  maximum: bound,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: z.number().int('must be a whole number').min(1).max(10_000),
  uniqueItems: z.literal(false, 'is supported as false only'),
};
/** What describes a schema without saying anything about the value. */
const annotations = ['$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'contentEncoding', 'contentMediaType', 'discriminator'] as const;

const Keywords = z.strictObject({ ...assertions, ...Object.fromEntries(annotations.map((name) => [name, z.unknown()])) }).partial();
export type Keywords = Partial<{ [K in keyof typeof assertions]: z.infer<(typeof assertions)[K]> }>;

/** The keywords of one schema that say something. Throws TrainerError `bad_input` naming the keyword and `path`, a JSON pointer. */
export function readKeywords(schema: unknown, path: string): Keywords {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw schemaError(path, 'a schema must be an object, true or false');
  const { success, data, error } = Keywords.safeParse(schema);
  if (!success) {
    const issue = error.issues[0];
    if (issue?.code === 'unrecognized_keys') throw schemaError(path, `the keyword "${issue.keys[0]}" is not supported`);
    throw schemaError(path, `"${issue?.path.join('/')}" is not usable: ${issue?.message}`);
  }
  if (path !== '#' && '$id' in data) throw schemaError(path, 'the keyword "$id" is supported at the top only');
  return Object.fromEntries(Object.entries(data).filter(([name, value]) => name in assertions && value !== undefined));
}

/** Throws TrainerError `bad_input` when other keywords stand beside `form`, which says all that is followed. */
export function requireAlone(keywords: Keywords, form: keyof Keywords, path: string, allowed: readonly (keyof Keywords)[] = []): void {
  const other = Object.keys(keywords).find((name) => name !== form && !allowed.includes(name as keyof Keywords));
  if (other !== undefined) throw schemaError(path, `the keyword "${other}" beside "${form}" is not supported`);
}

export function schemaError(path: string, message: string): TrainerError {
  return new TrainerError('bad_input', `at ${path}: ${message}`, { details: { path } });
}
