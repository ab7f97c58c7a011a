import assert from 'node:assert/strict';
import { Pickled, unpickle } from '../../../trainer/export/verl/unpickle.ts';

const refuse = (problem: string) => new Error(problem);
const allowed = new Set(['torch.Size', 'collections.OrderedDict']);
const read = (...parts: (string | number[])[]) => unpickle(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part)))), allowed, refuse);
const start = [0x80, 2];

describe('unpickle', () => {
  it('makes records of allowed names, and runs nothing', () => {
    const size = read(start, 'ctorch\nSize\n', [0x4b, 7, 0x4b, 5, 0x86, 0x85], 'R.') as Pickled;
    assert.ok(size instanceof Pickled);
    assert.deepEqual([size.name, size.args], ['torch.Size', [[7, 5]]]);
    assert.deepEqual(read(start, 'ccollections\nOrderedDict\n)R', [0x58, 1, 0, 0, 0], 'a', [0x8a, 2, 0xff, 0xff], 's.'), new Map([['a', -1]]));
  });

  for (const name of ['posix.system', 'nt.system', 'os.system', 'builtins.eval', '__builtin__.exec', 'subprocess.Popen', 'torch.load', 'torch.Size.x']) {
    const [module, attribute] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1)];
    it(`refuses ${name} by name, however it is written`, () => {
      const short = (text: string) => String.fromCharCode(0x8c, text.length) + text;
      for (const named of [`c${module}\n${attribute}\n`, `${short(module)}${short(attribute)}\x93`]) {
        assert.throws(() => read(start, named, [0x58, 2, 0, 0, 0], 'id', [0x85], 'R.'), new RegExp(`it names ${name.replaceAll('.', '\\.')}, which has no place`));
      }
    });
  }

  it('takes lists of any length, and names that are text alone', () => {
    assert.equal((read(start, '](', Buffer.from('K\u0001'.repeat(300_000), 'latin1').toString('latin1'), 'e.') as unknown[]).length, 300_000);
    // Tuples of tuples, each twice the one before: their text would be 2^40 characters long.
    const doubled = Array.from({ length: 40 }, (_, i) => ['h', [i], 'h', [i], '\x86', 'q', [i + 1]]).flat();
    assert.throws(() => read(start, 'N', 'q', [0], ...doubled, 'h', [40], '\x93.'), /names something by what is no text/);
  });

  it('refuses damage and instructions that weights do not need', () => {
    assert.throws(() => read(start), /ends too early/);
    assert.throws(() => read(start, 'R.'), /takes more than it has/);
    assert.throws(() => read(start, 'h\u0007.'), /refers to what it has not said/);
    assert.throws(() => read(start, '}', [0x4b, 1], 'a.'), /adds to something/);
    assert.throws(() => read(start, [0x58, 255, 255, 255, 127], 'a'), /ends too early/);
    for (const instruction of ['i', 'o', '\x82', '\x83', '\x84', '\x92', 'P']) assert.throws(() => read(start, instruction), /has the instruction 0x/);
  });
});
