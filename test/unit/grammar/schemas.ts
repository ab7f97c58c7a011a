import fc from 'fast-check';

/** A schema and values that satisfy it. */
export interface Case { schema: Record<string, unknown> | boolean; value: fc.Arbitrary<unknown> }

const names = ['a', 'b', 'name', 'é', 'x "y"', 'back\\slash', 'a b'];
const text = fc.string({ unit: fc.constantFrom('a', 'Z', '7', ' ', '"', '\\', '/', '\n', '\u0001', 'é', '漢', '😀', '}'), maxLength: 8 });

const strings: fc.Arbitrary<Case> = fc.record({ minLength: fc.option(fc.nat(3), { nil: undefined }), more: fc.option(fc.nat(4), { nil: undefined }) }).map(({ minLength, more }) => {
  const maxLength = more === undefined ? undefined : (minLength ?? 0) + more;
  const long = (value: string) => Array.from(value).length;
  return {
    schema: defined({ type: 'string', minLength, maxLength }),
    value: text.map((t) => Array.from(t.padEnd(minLength ?? 0, 'x')).slice(0, maxLength ?? 99).join('')).filter((t) => long(t) >= (minLength ?? 0)),
  };
});

const patterns: fc.Arbitrary<Case> = fc.constantFrom<[string, RegExp, number?]>(
  ['^[a-z]{2,4}-\\d+$', /^[a-z]{2,4}-\d{1,3}$/], ['^(?:ab|cd)*$', /^(?:ab|cd){0,4}$/], ['\\.json$', /^[a-z"\\]{0,4}\.json$/], ['^[^a-y"]', /^[z\\ ][a-z]{0,3}$/],
  ['^(?!ad)(?=.*n)[a-z]+$', /^b[a-z]{0,3}n$/], ['^[\\w\\s]{1,3}$', /^[a-c \n]{1,3}$/], ['^\\p{Lu}', /^[A-ZÉ]x?$/], ['^[a-c]+$', /^[a-c]{2,5}$/, 5],
).map(([pattern, value, maxLength]) => ({ schema: defined({ type: 'string', pattern, maxLength }), value: fc.stringMatching(value) }));

const bounds = fc.tuple(fc.integer({ min: -2000, max: 2000 }), fc.nat(3000));
const integers: fc.Arbitrary<Case> = fc.tuple(bounds, fc.boolean(), fc.boolean(), fc.constantFrom(undefined, 3, 7)).map(([[low, span], openLow, openHigh, multipleOf]) => {
  const [min, max] = [openLow ? low + 1 : low, openHigh ? low + span + 1 : low + span];
  return {
    schema: defined({ type: 'integer', [openLow ? 'exclusiveMinimum' : 'minimum']: low, [openHigh ? 'exclusiveMaximum' : 'maximum']: openHigh ? max + 1 : max, multipleOf }),
    value: fc.integer({ min: Math.min(min, max), max: Math.max(min, max) }).map((n) => (multipleOf ? n - (((n % multipleOf) + multipleOf) % multipleOf) : n)).filter((n) => n >= min && n <= max),
  };
}).filter(({ schema }) => schema['multipleOf'] === undefined);

const numbers: fc.Arbitrary<Case> = fc.tuple(fc.integer({ min: -5000, max: 5000 }), fc.integer({ min: 1, max: 4000 }), fc.boolean(), fc.constantFrom(10, 1000)).map(([low, span, open, scale]) => ({
  schema: { type: 'number', [open ? 'exclusiveMinimum' : 'minimum']: low / scale, maximum: (low + span) / scale },
  value: fc.integer({ min: open ? low + 1 : low, max: low + span }).map((n) => n / scale),
}));

const plain: fc.Arbitrary<Case> = fc.constantFrom<Case>(
  { schema: { type: 'boolean' }, value: fc.boolean() }, { schema: { type: 'null' }, value: fc.constant(null) },
  { schema: { type: 'integer' }, value: fc.integer() }, { schema: { type: 'number' }, value: fc.integer({ min: -1e6, max: 1e6 }).map((n) => n / 64) },
  { schema: { type: ['string', 'null'] }, value: fc.option(text) }, { schema: { const: { a: [1, 'x'] } }, value: fc.constant({ a: [1, 'x'] }) },
  { schema: { enum: ['red', 'green "', 3, null, 'redder'] }, value: fc.constantFrom('red', 'green "', 3, null, 'redder') },
  { schema: { enum: ['red', 3, true], type: 'string' }, value: fc.constant('red') },
);

const { any } = fc.letrec<{ any: Case; array: Case; object: Case; union: Case }>((tie) => ({
  any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, plain, strings, integers, numbers, patterns, tie('array'), tie('object'), tie('union')),
  array: fc.tuple(tie('any'), fc.nat(2), fc.option(fc.nat(2), { nil: undefined }), fc.array(tie('any'), { maxLength: 2 })).map(([item, minItems, more, prefix]) => {
    const maxItems = more === undefined ? undefined : minItems + more;
    const count = fc.integer({ min: minItems, max: maxItems ?? minItems + 2 });
    return {
      schema: defined({ type: 'array', items: item.schema, minItems, maxItems, prefixItems: prefix.length > 0 ? prefix.map(({ schema }) => schema) : undefined }),
      value: count.chain((n) => fc.tuple(...Array.from({ length: n }, (_, i) => prefix[i]?.value ?? item.value))),
    };
  }),
  object: fc.tuple(fc.uniqueArray(fc.tuple(fc.constantFrom(...names), tie('any'), fc.boolean()), { maxLength: 4, selector: ([name]) => name }), fc.constantFrom<'none' | 'any' | 'typed'>('none', 'any', 'typed')).map(([members, additional]) => ({
    schema: defined({
      type: 'object', properties: Object.fromEntries(members.map(([name, { schema }]) => [name, schema])), required: members.flatMap(([name, , required]) => (required ? [name] : [])),
      additionalProperties: additional === 'none' ? false : additional === 'typed' ? { type: 'integer' } : undefined,
    }),
    value: fc.record(Object.fromEntries(members.map(([name, { value }]) => [name, value])), { requiredKeys: members.flatMap(([name, , required]) => (required ? [name] : [])), noNullPrototype: true })
      .chain((record) => (additional === 'none' ? fc.constant(record) : fc.constantFrom(record, { ...record, other: 4 })))
      .map((record) => Object.fromEntries([...members.map(([name]) => name), 'other'].filter((name) => Object.hasOwn(record, name)).map((name) => [name, (record as Record<string, unknown>)[name]]))),
  })),
  union: fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((options) => ({ schema: { anyOf: options.map(({ schema }) => schema) }, value: fc.oneof(...options.map(({ value }) => value)) })),
}));

/** Random schemas of all kinds, nested. */
export const cases: fc.Arbitrary<Case> = any;

function defined(schema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
