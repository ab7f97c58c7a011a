import type { Aggregate, Condition, Operator, Query } from './query.ts';
import type { Random } from './random.ts';
import type { Cell, Column, ColumnKind, Rows, Schema, Table } from './schema.ts';

export const questionKinds = [
  'list', 'distinct', 'count', 'count-distinct', 'aggregate', 'top', 'sorted', 'group-count', 'group-average', 'having',
] as const;
export type QuestionKind = (typeof questionKinds)[number];

export interface Question { kind: QuestionKind; text: string; query: Query }

/** Sentence frames: {T} table and its conditions, {C} columns, {N} number column, {G} grouping column, {A} aggregate, {K} how many, {D} direction. */
interface Frames { shared: readonly string[]; heldOut: readonly string[] }
const frames: Readonly<Record<QuestionKind, Frames>> = {
  'list': {
    shared: ['Show the {C} of {T}.', 'List the {C} of {T}.', 'What is the {C} of {T}?', 'Give me the {C} of {T}.'],
    heldOut: ['I need the {C} of {T}.', 'Find the {C} of {T}.'],
  },
  'distinct': {
    shared: ['Show the different {C} of {T}.', 'List the different {C} of {T}.', 'What are the different {C} of {T}?'],
    heldOut: ['I need the different {C} of {T}.', 'Find the different {C} of {T}.'],
  },
  'count': {
    shared: ['How many {T} are there?', 'Count the {T}.', 'What is the number of {T}?'],
    heldOut: ['Give me the number of {T}.', 'I need the number of {T}.'],
  },
  'count-distinct': {
    shared: ['How many different {C} of {T} are there?', 'Count the different {C} of {T}.'],
    heldOut: ['What is the number of different {C} of {T}?', 'Give me the number of different {C} of {T}.'],
  },
  'aggregate': {
    shared: ['What is the {A} {N} of {T}?', 'Show the {A} {N} of {T}.', 'Compute the {A} {N} of {T}.'],
    heldOut: ['I need the {A} {N} of {T}.', 'Find the {A} {N} of {T}.'],
  },
  'top': {
    shared: ['Show the {C} of the {K} {T} with the {D} {N}.', 'Which {K} {T} have the {D} {N}? Show the {C}.'],
    heldOut: ['I need the {C} of the {K} {T} with the {D} {N}.', 'Find the {K} {T} with the {D} {N} and show the {C}.'],
  },
  'sorted': {
    shared: ['List the {C} of {T}, {D} {N} first.', 'Show the {C} of {T}, {D} {N} first.'],
    heldOut: ['Give me the {C} of {T}, {D} {N} first.', 'I need the {C} of {T}, {D} {N} first.'],
  },
  'group-count': {
    shared: ['How many {T} are there for each {G}?', 'For each {G}, count the {T}.'],
    heldOut: ['Show the number of {T} for each {G}.', 'For each {G}, give me the number of {T}.'],
  },
  'group-average': {
    shared: ['What is the average {N} of {T} for each {G}?', 'For each {G}, show the average {N} of {T}.'],
    heldOut: ['For each {G}, compute the average {N} of {T}.', 'I need the average {N} of {T} for each {G}.'],
  },
  'having': {
    shared: ['Which {G} has {K} {T}?', 'Show each {G} with {K} {T}.'],
    heldOut: ['Find each {G} with {K} {T}.', 'List each {G} with {K} {T}.'],
  },
};

const operatorPhrases: Readonly<Record<Operator, readonly string[]>> = {
  '=': ['{V}'],
  '!=': ['not {V}'],
  '<': ['under {V}', 'below {V}', 'less than {V}'],
  '<=': ['at most {V}', '{V} or less'],
  '>': ['over {V}', 'above {V}', 'more than {V}'],
  '>=': ['at least {V}', '{V} or more'],
};
const aggregatePhrases: Readonly<Record<Exclude<Aggregate, 'COUNT'>, readonly string[]>> = {
  SUM: ['total'], AVG: ['average'], MAX: ['maximum', 'largest'], MIN: ['minimum', 'smallest'],
};

export type FrameChoice = 'shared' | 'heldOut' | 'all';

/** One random question of the given kind about the schema, with its reference query. Constants come from the rows, so that "at least 30" and "over 30" differ. */
export function askQuestion(random: Random, schema: Schema, rows: Rows, kind: QuestionKind, choice: FrameChoice): Question {
  const table = random.pick(schema.tables);
  const query: Query = { distinct: false, items: [], from: table.name, join: null, where: [], groupBy: null, having: null, orderBy: null, limit: null };
  const slots: Record<string, string> = {};
  const number = (): string => pickColumn(random, table, ['number']);
  const shown = (): string => pickColumn(random, table, ['label', 'category', 'number']);
  let conditions = random.pick([0, 1, 1, 1, 2]);
  let mayJoin = true;

  switch (kind) {
    case 'list': {
      const columns = random.sample(table.columns.filter(({ kind }) => kind !== 'key'), random.pick([1, 1, 2])).map(({ name }) => name);
      query.items = columns.map(toItem);
      slots['C'] = columns.join(' and ');
      conditions = Math.max(1, conditions);
      break;
    }
    case 'distinct': {
      slots['C'] = pickColumn(random, table, ['category']);
      query.items = [toItem(slots['C'])];
      query.distinct = true;
      conditions = Math.min(1, conditions);
      break;
    }
    case 'count':
      query.items = [{ type: 'aggregate', aggregate: 'COUNT', distinct: false, column: '*' }];
      conditions = Math.max(1, conditions);
      break;
    case 'count-distinct':
      slots['C'] = pickColumn(random, table, ['category']);
      query.items = [{ type: 'aggregate', aggregate: 'COUNT', distinct: true, column: slots['C'] }];
      conditions = Math.min(1, conditions);
      break;
    case 'aggregate': {
      const aggregate = random.pick(['SUM', 'SUM', 'AVG', 'MAX', 'MIN'] as const);
      slots['A'] = random.pick(aggregatePhrases[aggregate]);
      slots['N'] = number();
      query.items = [{ type: 'aggregate', aggregate, distinct: false, column: slots['N'] }];
      break;
    }
    case 'top': {
      const descending = random.chance(0.6);
      slots['C'] = shown();
      slots['D'] = descending ? 'highest' : 'lowest';
      slots['N'] = number();
      query.limit = random.int(2, 5);
      slots['K'] = String(query.limit);
      query.items = [toItem(slots['C'])];
      query.orderBy = { column: slots['N'], descending };
      conditions = random.pick([0, 0, 1]);
      mayJoin = false;
      break;
    }
    case 'sorted': {
      const descending = random.chance(0.6);
      slots['C'] = shown();
      slots['D'] = descending ? 'highest' : 'lowest';
      slots['N'] = number();
      query.items = [toItem(slots['C'])];
      query.orderBy = { column: slots['N'], descending };
      conditions = Math.min(1, conditions);
      break;
    }
    case 'group-count':
    case 'group-average': {
      query.groupBy = slots['G'] = pickColumn(random, table, ['category']);
      if (kind === 'group-average') slots['N'] = number();
      query.items = [toItem(query.groupBy), kind === 'group-count'
        ? { type: 'aggregate', aggregate: 'COUNT', distinct: false, column: '*' }
        : { type: 'aggregate', aggregate: 'AVG', distinct: false, column: slots['N'] ?? '' }];
      conditions = Math.min(1, conditions);
      break;
    }
    case 'having': {
      const operator = random.pick(['>=', '>=', '>', '<'] as const);
      query.groupBy = slots['G'] = pickColumn(random, table, ['category']);
      query.having = { operator, value: random.int(2, 6) };
      query.items = [toItem(query.groupBy)];
      slots['K'] = phrase(random, operator, query.having.value);
      conditions = 0;
      mayJoin = false;
      break;
    }
  }

  const parent = schema.tables.find(({ name }) => name === table.parent);
  const joined = mayJoin && conditions > 0 && parent !== undefined && random.chance(0.35);
  if (joined) query.join = { table: parent.name, key: `${parent.singular}_id` };
  const about = joined ? parent : table;
  const shownColumns = query.items.map(({ column }) => column);
  const candidates = about.columns.filter(({ kind, name }) => (kind === 'category' || kind === 'number') && name !== query.groupBy && !shownColumns.includes(name));
  const columns = random.sample(candidates, joined ? 1 : conditions);
  query.where = columns.map((column) => randomCondition(random, about, column, rows));
  const whose = query.where.map(({ column, operator, value }) => ` whose ${column} is ${phrase(random, operator, value)}`).join(' and');
  slots['T'] = `${table.name}${joined ? ` of ${parent.name}` : ''}${whose}`;

  const { shared, heldOut } = frames[kind];
  const frame = random.pick(choice === 'shared' ? shared : choice === 'heldOut' ? heldOut : [...shared, ...heldOut]);
  return { kind, query, text: frame.replaceAll(/\{(\w)\}/g, (_, slot: string) => slots[slot] ?? '') };
}

function toItem(column: string): { type: 'column'; column: string } {
  return { type: 'column', column };
}

function pickColumn(random: Random, table: Table, kinds: ColumnKind[]): string {
  return random.pick(table.columns.filter(({ kind }) => kinds.includes(kind))).name;
}

function randomCondition(random: Random, table: Table, column: Column, rows: Rows): Condition {
  const index = table.columns.indexOf(column);
  const values = (rows.get(table.name) ?? []).map((row) => row[index] as Cell);
  const operator: Operator = column.kind === 'category' ? random.pick(['=', '=', '!=']) : random.pick(['<', '<=', '<=', '>', '>=', '>=']);
  return { column: column.name, operator, value: random.pick(values) };
}

function phrase(random: Random, operator: Operator, value: Cell): string {
  return random.pick(operatorPhrases[operator]).replace('{V}', String(value));
}
