import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formats } from '../../../trainer/grammar/formats.ts';
import { uniforms } from '../../../trainer/policy/random.ts';
import { documentsOf, randomText, takes, validator } from './documents.ts';
import { cases } from './schemas.ts';

const spaced = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`).join(', ')}}`;
};

describe('documents of a JSON schema', () => {
  it('every text that ends is valid', () => {
    fc.assert(fc.property(cases, fc.nat(), ({ schema }, seed) => {
      const documents = documentsOf(schema);
      const isValid = validator(schema);
      const uniform = uniforms(seed);
      for (let i = 0; i < 5; i++) {
        const text = randomText(documents, uniform);
        if (text !== null) assert.ok(isValid(JSON.parse(text)), text);
      }
    }), { numRuns: 60, seed: 1 });
  }).timeout(120_000);

  it('what satisfies the schema can be written, with blanks after commas and colons or without', () => {
    fc.assert(fc.property(cases.chain(({ schema, value }) => fc.record({ schema: fc.constant(schema), value })), ({ schema, value }) => {
      const documents = documentsOf(schema);
      assert.ok(validator(schema)(value), 'the test is wrong');
      for (const text of [JSON.stringify(value), spaced(value)]) assert.ok(takes(documents, text), text);
    }), { numRuns: 80, seed: 2 });
  }).timeout(120_000);

  it('a text that is off by a character is valid or refused', () => {
    const change = fc.record({ at: fc.nat(), to: fc.constantFrom('', ...'0123456789-+.eE"\\{}[],: atrufalsn\u0001') });
    fc.assert(fc.property(cases.chain(({ schema, value }) => fc.record({ schema: fc.constant(schema), value })), fc.array(change, { maxLength: 40 }), ({ schema, value }, changes) => {
      const documents = documentsOf(schema);
      const isValid = validator(schema);
      for (const { at, to } of changes) {
        const text = JSON.stringify(value);
        const changed = text.slice(0, at % text.length) + to + text.slice((at % text.length) + 1);
        if (!takes(documents, changed)) continue;
        assert.ok(isValid(JSON.parse(changed)), changed);
      }
    }), { numRuns: 60, seed: 3 });
  }).timeout(120_000);

  it('formats are those of the standard', () => {
    for (const format of formats.keys()) {
      const documents = documentsOf({ type: 'string', format });
      const isValid = validator({ type: 'string', format });
      const uniform = uniforms(5);
      for (let i = 0; i < 20; i++) {
        const text = randomText(documents, uniform);
        if (text !== null) assert.ok(isValid(JSON.parse(text)), `${format}: ${text}`);
      }
    }
    const taken: [string, ...string[]][] = [
      ['date', '2024-02-29', '2026-12-31'], ['time', '23:59:59Z', '01:02:03.5+01:00'], ['date-time', '2026-01-31T10:00:00Z'], ['duration', 'P1Y2M3DT4H5M6S', 'PT5M', 'P2W'],
      ['email', 'a.b+c@example.co.uk'], ['hostname', 'www.example.com'], ['uuid', '123e4567-e89b-12d3-a456-426614174000'], ['ipv4', '192.168.0.1'], ['ipv6', '::1', '2001:db8::8a2e:370:7334'], ['uri', 'https://example.com:8080/a/b?c=d#e'],
    ];
    for (const [format, ...texts] of taken) for (const text of texts) assert.ok(takes(documentsOf({ type: 'string', format }), JSON.stringify(text)), text);
    for (const [format, text] of [['date', '2023-02-29'], ['ipv4', '1.2.3'], ['duration', 'P'], ['uuid', 'x']]) assert.ok(!takes(documentsOf({ type: 'string', format }), JSON.stringify(text)), text);
  }).timeout(60_000);

  it('numbers keep their bounds to the last digit', () => {
    const inside = (schema: Record<string, unknown>, texts: string[]) => texts.filter((text) => takes(documentsOf(schema), text));
    assert.deepEqual(inside({ type: 'number', exclusiveMinimum: 0.1, maximum: 0.3 }, ['0.1', '0.10', '0.1000001', '0.3', '0.30', '0.3000001', '0.2999', '0', '-0.2', '1e-1']), ['0.1000001', '0.3', '0.30', '0.2999']);
    assert.deepEqual(inside({ type: 'integer', minimum: -10, exclusiveMaximum: 100 }, ['-11', '-10', '-1', '-0', '0', '00', '99', '100', '9.0', '1e1']), ['-10', '-1', '0', '99']);
    assert.deepEqual(inside({ type: 'integer', multipleOf: 7, minimum: 14 }, ['0', '7', '14', '15', '700', '701']), ['14', '700']);
    for (let low = -12; low <= 12; low++) {
      for (let high = low; high <= 112; high += 17) {
        const documents = documentsOf({ type: 'integer', minimum: low, maximum: high });
        for (let n = -130; n <= 130; n++) assert.equal(takes(documents, String(n)), low <= n && n <= high, `${low} <= ${n} <= ${high}`);
      }
    }
  }).timeout(60_000);

  it('recursion goes to any depth, but nothing begins that could not end', () => {
    const node = { type: 'object', properties: { v: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }, required: ['v', 'next'], additionalProperties: false };
    const list = documentsOf({ $ref: '#/$defs/node', $defs: { node } });
    const nested = (depth: number): string => (depth === 0 ? 'null' : `{"v":1,"next":${nested(depth - 1)}}`);
    assert.ok(takes(list, nested(200)));
    assert.ok(!takes(list, 'null'));
    const endless = { type: 'object', properties: { self: { $ref: '#/$defs/endless' } }, required: ['self'] };
    const either = documentsOf({ anyOf: [{ $ref: '#/$defs/endless' }, { type: 'boolean' }], $defs: { endless } });
    assert.equal(either.json.algebra.after(either.start, 0x7b), either.json.algebra.none);
    assert.ok(takes(either, 'true'));
  });

  it('a name may not come twice by another spelling', () => {
    const documents = documentsOf({ type: 'object', properties: { a: { type: 'integer' } } });
    assert.ok(takes(documents, '{"a":1,"b":"x"}'));
    assert.ok(!takes(documents, '{"a":1,"\\u0061":"x"}'));
    assert.ok(!takes(documents, '{"a":1,"a":"x"}'));
    assert.ok(!takes(documents, '{"b":1,"a":1}'));
  });

  it('oneOf is taken where its schemas exclude each other', () => {
    const kind = (name: string) => ({ type: 'object', properties: { kind: { const: name } }, required: ['kind'], additionalProperties: false });
    const documents = documentsOf({ oneOf: [kind('cat'), { $ref: '#/$defs/dog' }, { type: 'integer' }], $defs: { dog: kind('dog') } });
    assert.deepEqual(['{"kind":"cat"}', '{"kind":"dog"}', '3', '{"kind":"cow"}'].map((text) => takes(documents, text)), [true, true, true, false]);
  });

  it('what cannot be followed is refused with its place and name', () => {
    const refused: [unknown, RegExp][] = [
      [{ type: 'object', properties: { a: { not: {} } } }, /^at #\/properties\/a: the keyword "not" is not supported$/],
      [{ type: 'array', items: { type: 'array', uniqueItems: true } }, /^at #\/items: "uniqueItems" /],
      [{ anyOf: [{}, { type: 'string', format: 'regex' }] }, /^at #\/anyOf\/1: the format "regex" is not supported/],
      [{ $defs: { 'a/b': { minProperties: 1 } }, $ref: '#/$defs/a~1b' }, /^at #\/\$defs\/a~1b: the keyword "minProperties"/],
      [{ type: 'strin' }, /^at #: "type" is not usable/],
      [{ properties: 3 }, /^at #: "properties" is not usable/],
      [{ type: 'object', properties: { a: 3 } }, /^at #\/properties\/a: a schema must be an object/],
      [{ type: 'string', pattern: '(' }, /^at #: "pattern" is not usable: it is not a regular expression/],
      [{ type: 'string', pattern: '(a)\\1' }, /^at #: "pattern" is not usable: "\\1" in it is not supported/],
      [{ type: 'string', pattern: '\\bx' }, /"\\b" in it is not supported/],
      [{ type: 'string', pattern: '^.{9000}$' }, /needs more than 20000 states/],
      [{ $ref: 'https://example.com/x' }, /only places in the same schema/],
      [{ $ref: '#/$defs/x' }, /no such place/],
      [{ $ref: '#' }, /refers to itself without anything around it/],
      [{ anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/a' }] } } }, /refers to itself/],
      [{ type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] }, /no finite JSON document/],
      [{ enum: ['a'], minLength: 2 }, /^at #: the keyword "minLength" beside "enum"/],
      [{ type: 'object', anyOf: [{}] }, /^at #: the keyword "type" beside "anyOf"/],
      [{ oneOf: [{ type: 'string' }, {}] }, /^at #: the schemas of "oneOf" may overlap/],
      [{ allOf: [{}, {}] }, /^at #: "allOf" is not usable/],
      [{ type: 'integer', minimum: 3, maximum: 2 }, /no finite JSON document/],
      [{ type: 'string', pattern: '^a{5}$', maxLength: 3 }, /no finite JSON document/],
      [{ type: 'number', multipleOf: 0.01 }, /^at #: "multipleOf" is not usable/],
      [{ type: 'object', properties: { a: { $id: 'x' } } }, /the keyword "\$id" is supported at the top only/],
      [JSON.parse('[' .repeat(200) + ']'.repeat(200)), /a schema must be an object/],
      [Array.from({ length: 200 }).reduce((inner) => ({ type: 'array', items: inner }), {}), /nested more than 100 deep/],
    ];
    for (const [schema, message] of refused) assert.throws(() => documentsOf(schema), { name: 'TrainerError', code: 'bad_input', message }, JSON.stringify(schema)?.slice(0, 100));
  }).timeout(60_000);
});
