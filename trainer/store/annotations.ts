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

const agentOf = "json_extract(body, '$.agent')";

/** Ended attempts of the latest `limit` rollouts of each agent, newest first; cancelled ones are left out. Reads no spans. */
export function recentAttempts({ db }: Context, limit: number): RecentAttempt[] {
  const agents = db.all(
    `SELECT named.agent, count(*) AS total FROM (SELECT run_id, ${agentOf} AS agent FROM runs) named JOIN rollouts r ON r.run_id = named.run_id
     WHERE r.status IN ('succeeded', 'failed') GROUP BY named.agent ORDER BY named.agent`,
  );
  return agents.flatMap(({ agent, total }) => {
    // `+` keeps SQLite from the index by run: from the end of the table it finds the latest without sorting all.
    const rows = db.all(
      `SELECT r.run_id, r.rollout_id, a.attempt_id, a.outcome, a.reward, a.start_time, a.end_time
       FROM rollouts r CROSS JOIN attempts a ON a.rollout_id = r.rollout_id AND a.sequence_id = r.latest
       WHERE r.status IN ('succeeded', 'failed') AND +r.run_id IN (SELECT run_id FROM runs WHERE ${agentOf} = ?) AND a.outcome <> 'cancelled'
       ORDER BY r.position DESC LIMIT ?`,
      agent!, limit,
    ) as unknown as Omit<RecentAttempt, 'agent' | 'total'>[];
    return rows.map((row) => ({ ...row, agent: agent as string, total: total as number })).sort((a, b) => b.end_time - a.end_time);
  });
}
