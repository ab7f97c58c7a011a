/** A query as the generator thinks of it; `printQuery` turns it into SQL. */
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=';
export type Aggregate = 'COUNT' | 'SUM' | 'AVG' | 'MAX' | 'MIN';

export type Item =
  | { type: 'column'; column: string }
  | { type: 'aggregate'; aggregate: Aggregate; distinct: boolean; column: string }; // column '*' only with COUNT

export interface Condition { column: string; operator: Operator; value: string | number }

export interface Query {
  distinct: boolean;
  items: Item[];
  from: string;
  join: { table: string; key: string } | null;
  where: Condition[];
  groupBy: string | null;
  having: { operator: Operator; value: number } | null; // on COUNT(*)
  orderBy: { column: string; descending: boolean } | null;
  limit: number | null;
}

export function printQuery(query: Query): string {
  const parts = [`SELECT ${query.distinct ? 'DISTINCT ' : ''}${query.items.map(printItem).join(', ')} FROM ${query.from}`];
  if (query.join) parts.push(`JOIN ${query.join.table} USING (${query.join.key})`);
  if (query.where.length > 0) parts.push(`WHERE ${query.where.map(printCondition).join(' AND ')}`);
  if (query.groupBy !== null) parts.push(`GROUP BY ${query.groupBy}`);
  if (query.having) parts.push(`HAVING COUNT(*) ${query.having.operator} ${query.having.value}`);
  if (query.orderBy) parts.push(`ORDER BY ${query.orderBy.column}${query.orderBy.descending ? ' DESC' : ''}`);
  if (query.limit !== null) parts.push(`LIMIT ${query.limit}`);
  return parts.join(' ');
}

function printItem(item: Item): string {
  if (item.type === 'column') return item.column;
  return `${item.aggregate}(${item.distinct ? 'DISTINCT ' : ''}${item.column})`;
}

function printCondition({ column, operator, value }: Condition): string {
  return `${column} ${operator} ${typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`}`;
}
