import type { SpanKind, SpanRow } from './trace-views.ts';

/**
 * Lines of the tree by columns: a long trace crosses to the page several times faster than as objects. Equal texts are sent
 * once; times are whole microseconds after `origin` (seconds since the epoch).
 */
export interface SpanBatch {
  texts: string[];
  ids: string[];
  /** Place of the parent in this batch, its id when it is elsewhere, or null. */
  parents: (number | string | null)[];
  kinds: number[];
  titles: number[]; // place in `texts`, as the two below
  notes: number[];
  agents: number[]; // -1: none
  failed: number[]; // places
  origin: number;
  starts: number[];
  durations: number[]; // -1: still open
  orders: number[];
}

/** A line in the page's tree; its children are put there by the page. */
export interface TreeRow extends SpanRow { children: TreeRow[] | null }

const kinds: readonly SpanKind[] = ['llm', 'operation', 'reward', 'message', 'exception', 'other'];

export function packRows(rows: readonly SpanRow[]): SpanBatch {
  const texts = new Map<string, number>();
  const textOf = (text: string): number => {
    let place = texts.get(text);
    if (place === undefined) texts.set(text, place = texts.size);
    return place;
  };
  const origin = Math.floor(rows[0]?.start ?? 0);
  const places = new Map<string, number>();
  const batch: SpanBatch = { texts: [], ids: [], parents: [], kinds: [], titles: [], notes: [], agents: [], failed: [], origin, starts: [], durations: [], orders: [] };
  rows.forEach((row, place) => {
    places.set(row.span_id, place);
    const start = Math.round((row.start - origin) * 1e6);
    batch.ids.push(row.span_id);
    batch.parents.push(row.parent_id === null ? null : places.get(row.parent_id) ?? row.parent_id);
    batch.kinds.push(kinds.indexOf(row.kind));
    batch.titles.push(textOf(row.title));
    batch.notes.push(textOf(row.note));
    batch.agents.push(row.agent === null ? -1 : textOf(row.agent));
    if (row.failed) batch.failed.push(place);
    batch.starts.push(start);
    batch.durations.push(row.end === null ? -1 : Math.max(0, Math.round((row.end - origin) * 1e6) - start));
    batch.orders.push(row.order);
  });
  batch.texts = [...texts.keys()];
  return batch;
}

export function unpackRows(batch: SpanBatch): TreeRow[] {
  const { texts, ids, origin } = batch;
  const rows = new Array<TreeRow>(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const parent = batch.parents[i]!;
    const agent = batch.agents[i]!;
    const [start, duration] = [batch.starts[i]!, batch.durations[i]!];
    rows[i] = {
      span_id: ids[i]!, parent_id: typeof parent === 'number' ? ids[parent]! : parent, kind: kinds[batch.kinds[i]!] ?? 'other', title: texts[batch.titles[i]!]!, note: texts[batch.notes[i]!]!,
      failed: false, agent: agent < 0 ? null : texts[agent]!, start: origin + start / 1e6, end: duration < 0 ? null : origin + (start + duration) / 1e6, order: batch.orders[i]!, children: null,
    };
  }
  for (const place of batch.failed) rows[place]!.failed = true;
  return rows;
}
