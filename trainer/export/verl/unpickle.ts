/** What a pickle says to make, made by nobody: the class or function it names, its arguments and its state. */
export class Pickled {
  readonly name: string;
  readonly args: readonly unknown[];
  state: unknown = null;
  constructor(name: string, args: readonly unknown[]) {
    this.name = name;
    this.args = args;
  }
}

/** A class or function by its module and name. */
export class Global {
  readonly name: string;
  constructor(name: string) { this.name = name; }
}

/** What the pickle leaves to its container, by this id. */
export class Persistent {
  readonly id: unknown;
  constructor(id: unknown) { this.id = id; }
}

const mark = Symbol('mark');

/**
 * Reads a pickle without running anything: a call or an object becomes a record of what it names. Tuples and lists become arrays, dictionaries maps.
 * Names outside `allowed` are refused, so that a file that wants more than tensors is not taken for one. Throws what `refuse` makes of the problem.
 */
export function unpickle(bytes: Buffer, allowed: ReadonlySet<string>, refuse: (problem: string) => Error): unknown {
  const stack: unknown[] = [];
  const memo = new Map<number, unknown>();
  let at = 0;

  const take = (length: number) => {
    if (at + length > bytes.length) throw refuse('its pickle ends too early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const byte = () => take(1)[0] as number;
  const text = (length: number) => take(length).toString('utf8');
  const line = () => {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw refuse('its pickle ends too early');
    return text(end - at + 1).slice(0, -1);
  };
  const pop = () => {
    if (stack.length === 0) throw refuse('its pickle takes more than it has');
    return stack.pop();
  };
  const popMark = () => {
    const from = stack.lastIndexOf(mark);
    if (from < 0) throw refuse('its pickle takes more than it has');
    return stack.splice(from).slice(1);
  };
  const popArray = () => {
    const value = pop();
    if (!Array.isArray(value)) throw refuse('its pickle has arguments that are no tuple');
    return value as unknown[];
  };
  const top = <T>(is: (value: unknown) => value is T): T => {
    const value = stack.at(-1);
    if (!is(value)) throw refuse('its pickle adds to something that takes nothing');
    return value;
  };
  const isMap = (value: unknown): value is Map<unknown, unknown> => value instanceof Map;
  const global = (name: string) => {
    if (!allowed.has(name)) throw refuse(`it names ${name}, which has no place in a file of weights. Nothing of it was run`);
    return new Global(name);
  };
  const make = () => {
    const args = popArray();
    const callee = pop();
    if (!(callee instanceof Global)) throw refuse('its pickle calls something that is no name');
    stack.push(callee.name === 'collections.OrderedDict' ? new Map() : new Pickled(callee.name, args));
  };
  const remember = (id: number) => memo.set(id, stack.at(-1));
  const recall = (id: number) => {
    if (!memo.has(id)) throw refuse('its pickle refers to what it has not said');
    stack.push(memo.get(id));
  };
  const setItems = (pairs: unknown[]) => {
    const map = top(isMap);
    for (let i = 0; i + 1 < pairs.length; i += 2) map.set(pairs[i], pairs[i + 1]);
  };

  for (;;) {
    const code = byte();
    switch (code) {
      case 0x80: take(1); break; // PROTO
      case 0x95: take(8); break; // FRAME
      case 0x28: stack.push(mark); break; // MARK
      case 0x2e: return pop(); // STOP
      case 0x4e: stack.push(null); break; // NONE
      case 0x88: stack.push(true); break; // NEWTRUE
      case 0x89: stack.push(false); break; // NEWFALSE
      case 0x4b: stack.push(byte()); break; // BININT1
      case 0x4d: stack.push(take(2).readUInt16LE()); break; // BININT2
      case 0x4a: stack.push(take(4).readInt32LE()); break; // BININT
      case 0x8a: stack.push(long(take(byte()), refuse)); break; // LONG1
      case 0x47: stack.push(take(8).readDoubleBE()); break; // BINFLOAT
      case 0x58: stack.push(text(take(4).readUInt32LE())); break; // BINUNICODE
      case 0x8c: stack.push(text(byte())); break; // SHORT_BINUNICODE
      case 0x7d: stack.push(new Map()); break; // EMPTY_DICT
      case 0x5d: case 0x29: stack.push([]); break; // EMPTY_LIST, EMPTY_TUPLE
      case 0x74: stack.push(popMark()); break; // TUPLE
      case 0x85: case 0x86: case 0x87: stack.push(Array.from({ length: code - 0x84 }, pop).reverse()); break; // TUPLE1 to TUPLE3
      case 0x71: remember(byte()); break; // BINPUT
      case 0x72: remember(take(4).readUInt32LE()); break; // LONG_BINPUT
      case 0x94: remember(memo.size); break; // MEMOIZE
      case 0x68: recall(byte()); break; // BINGET
      case 0x6a: recall(take(4).readUInt32LE()); break; // LONG_BINGET
      case 0x63: stack.push(global(`${line()}.${line()}`)); break; // GLOBAL
      case 0x93: { // STACK_GLOBAL
        const [name, module] = [pop(), pop()];
        if (typeof module !== 'string' || typeof name !== 'string') throw refuse('its pickle names something by what is no text');
        stack.push(global(`${module}.${name}`));
        break;
      }
      case 0x52: case 0x81: make(); break; // REDUCE, NEWOBJ
      case 0x51: stack.push(new Persistent(pop())); break; // BINPERSID
      case 0x62: { // BUILD
        const state = pop();
        const made = stack.at(-1);
        if (made instanceof Pickled) made.state = state;
        else if (!isMap(made)) throw refuse('its pickle gives a state to something that has none');
        break;
      }
      case 0x73: { // SETITEM
        const [value, key] = [pop(), pop()];
        setItems([key, value]);
        break;
      }
      case 0x75: setItems(popMark()); break; // SETITEMS
      case 0x61: { // APPEND
        const value = pop();
        top<unknown[]>(Array.isArray).push(value);
        break;
      }
      case 0x65: { // APPENDS
        const values = popMark();
        const list = top<unknown[]>(Array.isArray);
        for (const value of values) list.push(value); // too many for arguments of a call
        break;
      }
      default: throw refuse(`its pickle has the instruction 0x${code.toString(16)}, which files of weights have not`);
    }
  }
}

/** Little-endian two's complement; sizes and offsets are far below 2^53. */
function long(bytes: Buffer, refuse: (problem: string) => Error): number {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = value << 8n | BigInt(bytes[i] as number);
  if (bytes.length > 0 && (bytes.at(-1) as number) > 127) value -= 1n << BigInt(8 * bytes.length);
  if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER)) throw refuse('its pickle has a number beyond all sizes');
  return Number(value);
}
