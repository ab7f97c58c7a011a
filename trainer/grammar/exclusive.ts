type Resolve = (ref: string) => unknown;
type Node = Record<string, unknown>;

/** Whether no value can satisfy two of the schemas, as far as it shows: their types differ, or a required property of both has other values in each. */
export function exclusive(schemas: readonly unknown[], resolve: Resolve): boolean {
  const nodes = schemas.map((schema) => followed(schema, resolve, 10));
  return nodes.every((a, i) => nodes.slice(i + 1).every((b) => a && b && disjoint(a, b, resolve)));
}

function followed(schema: unknown, resolve: Resolve, steps: number): Node | null {
  if (typeof schema !== 'object' || schema === null || steps === 0) return null;
  const { $ref } = schema as Node;
  return typeof $ref === 'string' ? followed(resolve($ref), resolve, steps - 1) : schema as Node;
}

function disjoint(a: Node, b: Node, resolve: Resolve): boolean {
  const [valuesA, valuesB] = [valuesOf(a), valuesOf(b)];
  if (valuesA && valuesB) return !valuesA.some((value) => valuesB.includes(value));
  const [typesA, typesB] = [typesOf(a), typesOf(b)];
  if (!typesA || !typesB) return false;
  if (!typesA.some((type) => typesB.includes(type))) return true;
  if (typesA.join() !== 'object' || typesB.join() !== 'object') return false;
  const [propertiesA, propertiesB] = [propertiesOf(a), propertiesOf(b)];
  return Object.keys(propertiesA).some((name) => {
    const [inA, inB] = [followed(propertiesA[name], resolve, 10), followed(propertiesB[name], resolve, 10)];
    return isRequired(a, name) && isRequired(b, name) && inA !== null && inB !== null && valuesOf(inA) !== null && valuesOf(inB) !== null && disjoint(inA, inB, resolve);
  });
}

function valuesOf(node: Node): string[] | null {
  const values = 'const' in node ? [node['const']] : node['enum'];
  return Array.isArray(values) && values.every((value) => typeof value !== 'object' || value === null) ? values.map((value) => JSON.stringify(value)) : null;
}

function typesOf({ type }: Node): string[] | null {
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type.map(String) : null;
  return types?.map((one) => (one === 'integer' ? 'number' : one)) ?? null;
}

function propertiesOf({ properties }: Node): Node { return typeof properties === 'object' && properties !== null ? properties as Node : {}; }

function isRequired({ required }: Node, name: string): boolean { return Array.isArray(required) && required.includes(name); }
