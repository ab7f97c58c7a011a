import type { z } from 'zod';
import { TrainerError } from './errors.ts';

/**
 * Parses a value from outside. Throws TrainerError 'bad_input' that opens with `subject` and names each wrong field:
 * "rollout 3: config.max_attempts: Too small: expected number to be >=1".
 */
export function parseAs<Schema extends z.ZodType>(schema: Schema, value: unknown, subject: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const shown = result.error.issues.slice(0, 5).map(({ path, message }) => (path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message));
  const more = result.error.issues.length - shown.length;
  throw new TrainerError('bad_input', `${subject}: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`, { cause: result.error });
}
