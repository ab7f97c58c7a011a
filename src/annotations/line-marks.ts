import type { Annotations, FailedLine } from '../../trainer/protocol/annotations.ts';
import { annotationOf } from './annotation-book.ts';
import type { RewardPlaces } from './reward-lines.ts';

/** What is drawn on the lines of one file. Lines count from 0. */
export interface LineMarks {
  rewards: { line: number; rewards: number[] }[];
  failures: (FailedLine & { at: number })[];
}

/** The marks of a file, given what its text looks like now: a line that no longer yields rewards gets none. `reference` names an agent of the file. */
export function lineMarks(annotations: Annotations, file: string, lineCount: number, places: RewardPlaces, reference: (agent: string) => string): LineMarks {
  const rewards = new Map<number, number[]>();
  for (const { file: where, line, rewards: values } of annotations.reward_lines) {
    if (where === file && places.emits.has(line - 1)) rewards.set(line - 1, [...(rewards.get(line - 1) ?? []), ...values]);
  }
  for (const [agent, lines] of places.functions) {
    const values = annotationOf(annotations, reference(agent))?.rewards ?? [];
    for (const line of lines) if (values.length > 0 && !rewards.has(line)) rewards.set(line, values);
  }
  const failures = annotations.failed_lines.filter((failed) => failed.file === file && failed.line <= lineCount).map((failed) => ({ ...failed, at: failed.line - 1 }));
  return { rewards: [...rewards].map(([line, values]) => ({ line, rewards: values })), failures };
}
