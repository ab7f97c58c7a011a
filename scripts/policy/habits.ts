import type { Query } from '../../examples/sql-agent/generator/query.ts';

/** A mistake that the author of the demonstrations makes at the given rate. `apply` returns null where the query gives no occasion for it. */
export interface Habit { name: string; rate: number; apply: (query: Query) => Query | null }

/** A mistake that greedy decoding repeats. */
const USUAL = 0.65;
/** A mistake that shows in sampling alone. */
const FREQUENT = 0.4;

export const habits: readonly Habit[] = [
  { name: '"at least" written as >', rate: USUAL, apply: (query) => withOperator(query, '>=', '>') },
  { name: '"at most" written as <', rate: USUAL, apply: (query) => withOperator(query, '<=', '<') },
  { name: '"not" forgotten', rate: FREQUENT, apply: (query) => withOperator(query, '!=', '=') },
  { name: '"different" forgotten in a list', rate: USUAL, apply: (query) => (query.distinct ? { ...query, distinct: false } : null) },
  {
    name: '"different" forgotten in a count', rate: USUAL,
    apply: (query) => withItems(query, (item) => (item.type === 'aggregate' && item.distinct ? { ...item, distinct: false } : item)),
  },
  {
    name: '"total" written as COUNT', rate: USUAL,
    apply: (query) => withItems(query, (item) => (item.type === 'aggregate' && item.aggregate === 'SUM' ? { ...item, aggregate: 'COUNT' } : item)),
  },
  {
    name: '"highest" without DESC', rate: USUAL,
    apply: (query) => (query.orderBy?.descending ? { ...query, orderBy: { ...query.orderBy, descending: false } } : null),
  },
  { name: 'JOIN forgotten', rate: USUAL, apply: (query) => (query.join ? { ...query, join: null } : null) },
  { name: 'second condition forgotten', rate: FREQUENT, apply: (query) => (query.where.length > 1 ? { ...query, where: query.where.slice(0, 1) } : null) },
  {
    name: 'grouping column not selected', rate: USUAL,
    apply: (query) => (query.groupBy !== null && query.items.length > 1 ? { ...query, items: query.items.slice(1) } : null),
  },
];

function withItems(query: Query, change: (item: Query['items'][number]) => Query['items'][number]): Query | null {
  const items = query.items.map(change);
  return items.some((item, i) => item !== query.items[i]) ? { ...query, items } : null;
}

function withOperator(query: Query, from: '>=' | '<=' | '!=', to: '>' | '<' | '='): Query | null {
  const inWhere = query.where.some(({ operator }) => operator === from);
  const inHaving = query.having?.operator === from;
  if (!inWhere && !inHaving) return null;
  return {
    ...query,
    where: query.where.map((condition) => (condition.operator === from ? { ...condition, operator: to } : condition)),
    having: query.having && inHaving ? { ...query.having, operator: to } : query.having,
  };
}
