import type { Dataset } from '../dataset.ts';
import type { AgentView, Finding, Fix, Rule } from '../finding.ts';
import { finding } from '../finding.ts';
import { closest } from '../closest.ts';
import type { TaskRead } from '../task-reads.ts';
import { taskReads } from '../task-reads.ts';

/** A field the agent reads that no row of its dataset has. */
export const datasetFields: Rule = (view) => {
  const { data } = view;
  const fields = data === null ? [] : fieldsOf(data);
  if (data === null || fields.length === 0) return [];
  const unknown = taskReads(view).filter(({ field, optional }) => !optional && !fields.includes(field));
  return unknown.map((read) => finding('dataset-fields', 'warning', read.key,
    view.l10n.t('No row of {0} has a field “{1}”; its rows have {2}.', data.name, read.field, fields.slice(0, 8).join(', ')), fixesFor(view, read, fields)));
};

function fixesFor({ l10n, source }: AgentView, { key, field, bound }: TaskRead, fields: string[]): Fix[] {
  const name = closest(field, fields);
  if (name === null) return [];
  const text = source.text.slice(key.from, key.to);
  const quote = key.name === 'String' ? text[0] ?? '' : '';
  const insert = bound !== null && bound === field ? `${name}: ${bound}` : `${quote}${name}${quote}`;
  return [{ title: l10n.t('Read “{0}” instead', name), edits: [{ from: key.from, to: key.to, insert }] }];
}

/** Every field that some row has. */
function fieldsOf({ rows }: Dataset): string[] {
  return [...new Set(rows.flatMap(({ fields }) => fields ?? []))];
}

const findingLimit = 50;

/** What is wrong with single rows of a dataset, for the agent that is given them; offsets are into the dataset file. */
export function rowFindings(view: AgentView, data: Dataset): Finding[] {
  const needed = [...new Set(taskReads(view).filter(({ optional }) => !optional).map(({ field }) => field))];
  const known = fieldsOf(data);
  return data.rows.flatMap(({ from, to, fields, problem }): Finding[] => {
    const row = { from, to };
    if (problem !== null) return [finding('dataset-fields', 'warning', row, view.l10n.t('This row is not JSON, so it is no task: {0}', problem))];
    if (fields === null) return needed.length === 0 ? [] : [finding('dataset-fields', 'warning', row, view.l10n.t('{0} reads fields of its task, but this row is no object.', view.agent.name))];
    const missing = needed.filter((field) => known.includes(field) && !fields.includes(field));
    return missing.length === 0 ? [] : [finding('dataset-fields', 'warning', row, view.l10n.t('{0} reads {1}, which this row does not have.', view.agent.name, missing.map((field) => `“${field}”`).join(', ')))];
  }).slice(0, findingLimit);
}
