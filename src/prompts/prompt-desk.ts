import { relative, sep } from 'node:path';
import { messageOf } from '../../trainer/protocol/errors.ts';
import type { DiffBase, PromptItem, PromptsView } from '../../trainer/protocol/prompt-views.ts';
import type { Prompt } from '../../trainer/protocol/prompts.ts';
import type { PickedAgent } from '../agents/pick-agent.ts';
import { defaultTasks } from '../models/choose-tasks.ts';
import { agentReference, nearestConfig } from '../runs/config-file.ts';
import type { RunEntry } from '../runs/run-book.ts';
import type { Services } from '../services.ts';
import { placeOf, textParts } from '../views/prompts/prompt-text.ts';
import { historyItem, searchView } from '../views/prompts/search-view.ts';
import { defaultSetup, setupView } from '../views/prompts/setup-view.ts';
import type { Setup } from '../views/prompts/setup-view.ts';
import { taskTitle } from '../views/rollout-view.ts';
import type { Workspace } from '../workspace.ts';

/** The search that is looked at, and what of it. */
export interface Looking { run_id: string; candidate_id: string | null; base: DiffBase }

/** What lies on the desk: one agent. */
export interface OnDesk {
  agent: PickedAgent;
  workspace: Workspace;
  /** `path:name`, as runs call the agent. */
  reference: string;
  /** The agent-trainer.json near it. */
  config: string | null;
  /** null: being read. */
  prompts: Prompt[] | null;
  problem: string | null;
  setup: Setup;
  starting: boolean;
  /** null: the set-up of a new search. */
  looking: Looking | null;
}

/** What the prompt-tuning page shows: an agent, its prompts in the editor now, the next search and those there were. */
export class PromptDesk {
  private readonly services: Services;
  private readonly changed: () => void;
  private readonly setups = new Map<string, Setup>();
  /** Of the tasks of a run, by task id; and of how many results they were read. */
  private readonly titles = new Map<string, { count: number; byTask: ReadonlyMap<string, string> }>();
  private desk: OnDesk | null = null;
  private readings = 0;

  constructor(services: Services, changed: () => void) {
    this.services = services;
    this.changed = changed;
  }

  get current(): OnDesk | null { return this.desk; }

  /** Puts an agent on the desk, with its latest search if that still goes on. */
  async choose(agent: PickedAgent): Promise<OnDesk> {
    const { workspaces } = this.services;
    const key = keyOf(agent);
    if (this.desk !== null) this.setups.set(keyOf(this.desk.agent), this.desk.setup);
    const workspace = workspaces.of(agent.file);
    const desk: OnDesk = {
      agent, workspace, reference: agentReference(agent.file.fsPath, agent.name, workspace.folder), config: nearestConfig(agent.file.fsPath, workspace.folder),
      prompts: null, problem: null, setup: this.setups.get(key) ?? defaultSetup(), starting: false, looking: null,
    };
    this.desk = desk;
    const [latest] = this.runs(desk);
    if (latest !== undefined) desk.looking = { run_id: latest.run.run_id, candidate_id: null, base: 'source' };
    await Promise.all([this.readPrompts(), this.fillInTasks(desk)]);
    return desk;
  }

  /** Reads the prompts of the agent again, as they are in the editor. */
  async readPrompts(): Promise<void> {
    const { desk } = this;
    if (desk === null) return;
    const reading = ++this.readings;
    try {
      const prompts = await this.services.finder.promptsOf(desk.workspace.folder, desk.agent.file.fsPath, desk.agent.name);
      if (reading !== this.readings) return; // a later one is under way
      desk.prompts = prompts;
      desk.problem = null;
    } catch (error) {
      if (reading !== this.readings) return;
      desk.problem = messageOf(error);
      this.services.log.background('The prompts of the agent could not be read', error);
    }
    this.changed();
  }

  look(looking: Looking | null): void {
    if (this.desk === null) return;
    this.desk.looking = looking;
    this.changed();
  }

  set(patch: Partial<Pick<OnDesk, 'setup' | 'starting'>>): void {
    if (this.desk === null) return;
    Object.assign(this.desk, patch);
    this.changed();
  }

  /** By prompt id, the texts in the editor now; null while they are read. */
  source(): Record<string, string> | null {
    return this.desk?.prompts == null ? null : Object.fromEntries(this.desk.prompts.map(({ prompt_id, text }) => [prompt_id, text]));
  }

  /** The searches of the agent, newest first. */
  runs({ workspace, reference }: OnDesk): RunEntry[] {
    return workspace.book.list().filter(({ run }) => run.kind === 'optimize' && (run.agent === reference || run.agent === reference.replace(/:[^:/\\]*$/, '')));
  }

  view(now: number): PromptsView {
    const { finder, vscode } = this.services;
    const { desk } = this;
    const known = finder.wrapped();
    const agents = desk === null || known.some((agent) => keyOf(agent) === keyOf(desk.agent)) ? known : [desk.agent, ...known];
    const common = { trusted: vscode.workspace.isTrusted, agents: agents.map((agent) => ({ value: keyOf(agent), label: agent.name, place: vscode.workspace.asRelativePath(agent.file) })) };
    if (desk === null) return { ...common, agent: null, prompts: null, problem: null, setup: null, search: null, history: [] };
    const { looking, setup, starting, prompts, config, workspace } = desk;
    const source = this.source();
    const entry = looking === null ? undefined : workspace.book.entries.get(looking.run_id);
    return {
      ...common,
      agent: keyOf(desk.agent),
      prompts: prompts?.map((prompt) => itemOf(prompt, setup)) ?? null,
      problem: desk.problem,
      setup: entry !== undefined || !common.trusted ? null : setupView(setup, { prompts, config, starting, nameOf: (path) => nameIn(workspace.folder, path) }),
      search: entry === undefined || looking === null ? null : searchView(entry, workspace.searches.get(looking.run_id), { ...looking, source, titles: this.titlesOf(workspace, looking.run_id) }, now),
      history: this.runs(desk).map(({ run }) => historyItem(run, workspace.searches.get(run.run_id), source, run.run_id === looking?.run_id)),
    };
  }

  /** Tasks by configuration or as last time; the user chooses others, or chooses when there are none. */
  private async fillInTasks(desk: OnDesk): Promise<void> {
    if (desk.setup.data !== null || !this.services.vscode.workspace.isTrusted) return;
    const data = await defaultTasks(desk.workspace, desk.agent.file.fsPath, desk.reference);
    if (data === undefined || desk.setup.data !== null) return;
    desk.setup = { ...desk.setup, data };
    this.changed();
  }

  /** Read again when there are results of tasks that are not known. */
  private titlesOf(workspace: Workspace, run_id: string): ReadonlyMap<string, string> {
    const results = workspace.searches.get(run_id)?.candidates.flatMap((candidate) => candidate.results) ?? [];
    const count = results.length;
    const known = this.titles.get(run_id) ?? { count: 0, byTask: new Map<string, string>() };
    if (known.count === count || results.every(({ task_id }) => known.byTask.has(task_id)) || workspace.supervisor.state.kind !== 'ready') return known.byTask;
    this.titles.set(run_id, { ...known, count });
    workspace.supervisor.state.client.call('rollouts.list', { run_id }).then((rollouts) => {
      this.titles.set(run_id, { count, byTask: new Map(rollouts.flatMap(({ task_id, input }) => (task_id === null ? [] : [[task_id, taskTitle(input)] as const]))) });
      this.changed();
    }).catch((error: unknown) => { this.services.log.background('The tasks of the search could not be read', error); });
    return known.byTask;
  }
}

/** How the page names an agent. */
export function keyOf({ file, name }: PickedAgent): string {
  return `${file.fsPath}:${name}`;
}

function itemOf(prompt: Prompt, { left }: Setup): PromptItem {
  return { prompt_id: prompt.prompt_id, name: prompt.name, place: placeOf(prompt), parts: textParts(prompt.text, prompt.variables), chosen: !left.includes(prompt.prompt_id) };
}

function nameIn(folder: string, path: string): string {
  const name = relative(folder, path);
  return name === '' || name.startsWith('..') ? path : name.split(sep).join('/');
}
