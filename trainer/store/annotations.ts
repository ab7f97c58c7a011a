import type { Outcome } from '../protocol/rollout.ts';
import type { Context } from './context.ts';

/** An ended attempt, the latest of its rollout. Times are seconds since the epoch. */
export interface RecentAttempt {
  agent: string;
  run_id: string;
  rollout_id: string;
  attempt_id: string;
  outcome: Outcome;
  reward: number | null;
  start_time: number;
  end_time: number;
  /** Ended rollouts of the agent, over all runs. */
  total: number;
}

/** The latest ended attempts of each agent, newest first; cancelled ones are left out. Reads no spans. */
export function recentAttempts({ db }: Context, limit: number): RecentAttempt[] {
  return db.all(
    `WITH named AS MATERIALIZED (SELECT run_id, json_extract(body, '$.agent') AS agent FROM runs),
      ended AS (
        SELECT named.agent, r.run_id, r.rollout_id, a.attempt_id, a.outcome, a.reward, a.start_time, a.end_time,
          row_number() OVER (PARTITION BY named.agent ORDER BY a.end_time DESC, r.position DESC) AS place,
          count(*) OVER (PARTITION BY named.agent) AS total
        FROM named JOIN rollouts r ON r.run_id = named.run_id JOIN attempts a ON a.rollout_id = r.rollout_id AND a.sequence_id = r.latest
        WHERE a.outcome IS NOT NULL AND a.outcome <> 'cancelled' AND a.end_time IS NOT NULL
      )
    SELECT agent, run_id, rollout_id, attempt_id, outcome, reward, start_time, end_time, total FROM ended WHERE place <= ? ORDER BY agent, place`,
    limit,
  ) as unknown as RecentAttempt[];
}
