import { z } from 'zod';

/** A task of a configuration's validation side. `line`: of the file, from 1; in a parquet file its row. */
export const ListedTask = z.object({ task_id: z.string(), input: z.unknown(), line: z.number().int() });
export type ListedTask = z.infer<typeof ListedTask>;

/** What an evaluation by this configuration would run. `file` holds the tasks. */
export const TaskList = z.object({ agent: z.string(), file: z.string(), tasks: z.array(ListedTask) });
export type TaskList = z.infer<typeof TaskList>;

/** Fields of a task that, as a rule, hold what the agent should find, the more telling ones first. */
export const answerFields = [
  'answer', 'answers', 'expected', 'expected_answer', 'expectedAnswer', 'expected_output', 'expectedOutput', 'expected_result', 'reference', 'reference_answer',
  'ground_truth', 'groundTruth', 'gold', 'gold_answer', 'correct', 'correct_answer', 'solution', 'target', 'label', 'labels',
] as const;

/** What a task says the agent should find; undefined when it does not say. */
export function expectedOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return undefined;
  const fields = new Map(Object.entries(input));
  const field = answerFields.find((name) => fields.get(name) != null);
  return field === undefined ? undefined : fields.get(field);
}
