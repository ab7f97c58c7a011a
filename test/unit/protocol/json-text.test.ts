import assert from 'node:assert/strict';
import fc from 'fast-check';
import { firstProblem, JsonTextError, parseJsonText } from '../../../trainer/protocol/json-text.ts';

describe('JSON text from outside', () => {
  const problem = (text: string) => {
    let found: JsonTextError | undefined;
    assert.throws(() => parseJsonText(text), (error) => {
      assert.ok(error instanceof JsonTextError);
      found = error;
      return true;
    });
    return `${found!.line}:${found!.column} ${found!.message}`;
  };

  it('names line and column of the first mistake, whatever it is', () => {
    assert.equal(problem(''), '1:1 the text ends where a value should follow');
    assert.equal(problem('{\n "a": "b",\n}'), '3:1 "}" stands where a name in double quotes should be');
    assert.equal(problem('{\n\n"a": tru\n}'), '3:6 "tru" stands where a value should be');
    assert.equal(problem('{"a": NaN}'), '1:7 "NaN" stands where a value should be');
    assert.equal(problem("{\n  'a': 1}"), '2:3 "\'" stands where a name in double quotes or "}" should be');
    assert.equal(problem('{"a" 1}'), '1:6 "1" stands where ":" should be');
    assert.equal(problem('[1\n,2'), '2:3 the text ends where "," or "]" should follow');
    assert.equal(problem('[01]'), '1:2 "01" stands where a value or "]" should be');
    assert.equal(problem('{"a": "b\n"}'), '1:9 the line ends inside a string');
    assert.equal(problem('["C:\\path"]'), '1:5 a backslash in a string must be written \\\\');
    assert.equal(problem('[1] []'), '1:5 "[" stands where the end of the text should be');
    assert.equal(problem(`"${'x'.repeat(1_000_000)}`), '1:1000002 the text ends inside a string');
  });

  it('allows a byte order mark', () => {
    assert.deepEqual(parseJsonText('\ufeff{"a": [1]}'), { a: [1] });
  });

  it('finds a mistake exactly where JSON.parse refuses', () => {
    const damaged = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '0', '-', 'e', '\n', ':', 'u12', '\u0000'), fc.nat({ max: 3 }))
      .map(([text, at, inserted, removed]) => text.slice(0, at % (text.length + 1)) + inserted + text.slice((at % (text.length + 1)) + removed));
    fc.assert(fc.property(damaged, (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      assert.equal(firstProblem(text) === null, valid, text);
    }), { numRuns: 500 });
  });
});
