import { z } from 'zod';
import { Resource, type ResourceBundle } from '../protocol/rollout.ts';
import { parseAs } from '../protocol/validate.ts';
import { fromJson, toJson, type Context } from './context.ts';
import type { Row } from './database.ts';
import { newId } from './ids.ts';

const Resources = z.record(z.string(), Resource);

function bundleOf({ version, resources_id, create_time, update_time, body }: Row): ResourceBundle {
  return { resources_id, version, create_time, update_time, resources: fromJson(body) } as ResourceBundle;
}

/** Adds a bundle; its version is one above the newest. */
export function addResources(context: Context, resources: Record<string, z.input<typeof Resource>>): ResourceBundle {
  const body = toJson(parseAs(Resources, resources, 'Resources'), 'Resources');
  return context.write('full', () => {
    const resources_id = newId('rs');
    const now = context.now();
    context.db.run('INSERT INTO resources (version, resources_id, create_time, update_time, body) SELECT coalesce(max(version), 0) + 1, ?, ?, ?, ? FROM resources', resources_id, now, now, body);
    return getResources(context, resources_id)!;
  });
}

export function getResources({ db }: Context, resources_id: string): ResourceBundle | undefined {
  const row = db.get('SELECT * FROM resources WHERE resources_id = ?', resources_id);
  return row && bundleOf(row);
}

export function latestResources({ db }: Context): ResourceBundle | undefined {
  const row = db.get('SELECT * FROM resources ORDER BY version DESC LIMIT 1');
  return row && bundleOf(row);
}
