import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RunnerConfig } from '../../../trainer/protocol/config.ts';
import { spanNames, type Span } from '../../../trainer/protocol/span.ts';
import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { Runner, resolveAgent, type RunnerOptions } from '../../../trainer/runner/runner.ts';
import type { RolloutInput } from '../../../trainer/store/store.ts';
import { key, serveGateway, type ServedGateway } from '../gateway/served-gateway.ts';

export const fixtures = fileURLToPath(new URL('../../fixtures/agents/', import.meta.url));
export const languages = [
  { language: 'python', file: `${fixtures}behaviours.py` },
  { language: 'node', file: `${fixtures}behaviours.ts` },
] as const;

let workspaces: string[] = [];

/** A folder of its own, with these files. */
export function workspace(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-trainer-runner-'));
  workspaces.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

export interface Bench extends ServedGateway {
  /** A runner that has started; stopped by close(). */
  runner(agent: string, config?: Partial<RunnerConfig>, options?: Partial<RunnerOptions>): Promise<Runner>;
  enqueue(inputs: unknown[], config?: RolloutInput['config'], resources_id?: string): string[];
  /** Enqueues and waits for the end. */
  roll(inputs: unknown[], config?: RolloutInput['config'], resources_id?: string): Promise<AttemptedRollout[]>;
  /** Spans by the name of their operation, or their own. */
  labels(rollout: AttemptedRollout): string[];
}

export const run_id = 'ru-000000000001';

export async function bench(): Promise<Bench> {
  const served = await serveGateway();
  const runners: Runner[] = [];
  const enqueue: Bench['enqueue'] = (inputs, config, resources_id) =>
    served.store.enqueueRollouts(inputs.map((input) => ({ input, run_id, config, resources_id }))).map(({ rollout_id }) => rollout_id);
  return {
    ...served,
    enqueue,
    runner: async (agent, config = {}, options = {}) => {
      const folder = options.workspace ?? workspace();
      const runner = new Runner({
        store: served.store, run_id, agent: resolveAgent(agent, folder), gateway: { url: served.url, key },
        config: RunnerConfig.parse({ n_runners: 1, ...config }), workspace: folder, modelName: () => 'tiny', ...options,
      });
      runners.push(runner);
      await runner.start();
      return runner;
    },
    roll: (inputs, config, resources_id) => served.store.waitForRollouts(enqueue(inputs, config, resources_id)),
    labels: (rollout) => served.store.listSpans(rollout.rollout_id).map(label),
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()));
      await served.close();
      for (const folder of workspaces) rmSync(folder, { recursive: true, force: true });
      workspaces = [];
    },
  };
}

export function label(span: Span): string {
  return span.name === spanNames.operation ? String(span.attributes['agentlightning.operation.name']) : span.name;
}

/** Polls until `condition` holds; the test's time limit is the deadline. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}
