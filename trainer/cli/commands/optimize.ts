import path from 'node:path';
import type { Command } from 'commander';
import { TrainerError } from '../../protocol/errors.ts';
import type { ChosenModel } from '../../protocol/endpoints.ts';
import type { Run } from '../../protocol/run.ts';
import { OptimizeAlgorithm, OptimizeRequest, OptimizeResult } from '../../protocol/optimize.ts';
import { applyWinner, requireSomebodyToAsk } from '../apply-prompts.ts';
import { inTrainer, integerArgument, numberArgument, policyForms, printJson, runToEnd, workspaceOf } from '../run-command.ts';
import { candidatesText } from '../candidates-text.ts';
import { resultText } from '../result-text.ts';

interface Options {
  data?: string; validation?: string; test?: string; policy?: string; optimizer?: string; algorithm?: string; prompt?: string[]; seed?: number;
  budget?: number; budgetTokens?: number; budgetUsd?: number; priceInput?: number; priceOutput?: number; minutes?: number;
  resume?: string; apply?: boolean; yes?: boolean; json?: boolean;
}

/** `optimize AGENT --data FILE`: search for better prompts and report what they are worth on held-out tasks. */
export function addOptimizeCommand(program: Command): void {
  program.command('optimize')
    .description('search for better prompts of an agent, and measure the best on held-out tasks')
    .argument('[agent]', 'path[:name]')
    .option('--data <file>', 'tasks: JSONL, JSON, CSV or parquet; what --validation and --test do not give is split off')
    .option('--validation <file>', 'tasks that select among the candidates')
    .option('--test <file>', 'held-out tasks for the report')
    .option('--algorithm <name>', `${OptimizeAlgorithm.options.join(', ')} (default: gepa; baseline only measures)`)
    .option('--policy <p>', `the agent's: ${policyForms} (default: the model of the nearest agent-trainer.json)`)
    .option('--optimizer <url>', "the model that criticises and rewrites: OpenAI-compatible URL[#model] (default: the agent's own)")
    .option('--prompt <id...>', 'change only these prompts (default: all that reach the agent)')
    .option('--budget <n>', 'rollouts at most, the report included (default: 200)', integerArgument('--budget', 1))
    .option('--budget-tokens <n>', 'tokens at most, of agent and optimiser', integerArgument('--budget-tokens', 1))
    .option('--budget-usd <x>', 'US dollars at most; needs the prices', numberArgument('--budget-usd'))
    .option('--price-input <x>', 'US dollars per million input tokens', numberArgument('--price-input'))
    .option('--price-output <x>', 'US dollars per million output tokens', numberArgument('--price-output'))
    .option('--minutes <x>', 'minutes of searching at most', numberArgument('--minutes'))
    .option('--seed <n>', 'seed of the split, of the search and of sampling', integerArgument('--seed', 0))
    .option('--resume <run>', 'continue this run where it was; with --apply, also write the winner of one that is done')
    .option('--apply', 'write the winner into the source, if it is better; shows the change and asks first')
    .option('--yes', 'with --apply: do not ask')
    .option('--json', 'print one JSON object')
    .action(async (agent: string | undefined, options: Options, command: Command) => {
      const { resume, seed, json } = options;
      if ((resume === undefined) === (agent === undefined)) throw new TrainerError('bad_input', 'Give either an agent (agent-trainer optimize agent.py --data tasks.jsonl) or --resume RUN.');
      if (agent !== undefined && options.data === undefined) throw new TrainerError('bad_input', 'Give the tasks with --data FILE.');
      const { apply = false, yes = false } = options;
      if (apply && !yes) requireSomebodyToAsk();
      if (resume !== undefined) requireAsItWas(options);
      const request = resume === undefined ? { kind: 'optimize' as const, agent, data: options.data, policy: options.policy, seed, optimize: requestOf(options) } : { kind: 'optimize' as const, resume };
      await inTrainer(command, async (trainer) => {
        const { store } = trainer;
        const done = apply && resume !== undefined ? doneRun(store.getRun(resume)) : null;
        const run = done ?? await runToEnd(trainer, request, true);
        const result = OptimizeResult.parse(run.result);
        if (json) printJson(result);
        else process.stdout.write(`\n${candidatesText(store.listCandidates(run.run_id), result.best.candidate_id)}\n\n${resultText(run)}\n${result.improved && !apply ? `See the change and apply it with: agent-trainer optimize --resume ${run.run_id} --apply\n` : ''}`);
        if (apply) await applyWinner(workspaceOf(command), store.getSearch(run.run_id)!.prompts, result, { ask: !yes });
      });
    });
}

const withResume: readonly string[] = ['resume', 'apply', 'yes', 'json'] satisfies (keyof Options)[];

/** Throws TrainerError 'bad_input' for an option that a search that goes on would not follow. */
function requireAsItWas(options: Options): void {
  const other = Object.keys(options).find((name) => !withResume.includes(name));
  if (other === undefined) return;
  throw new TrainerError('bad_input', `A search goes on as it was asked for: --resume does not take --${other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}. Start a new search for that; it takes over the rollouts that are the same.`);
}

/** A search that has its result, and nothing to go on with. */
function doneRun(run: Run | undefined): Run | null {
  return run?.kind === 'optimize' && run.status === 'succeeded' ? run : null;
}

function requestOf(options: Options): OptimizeRequest {
  const { budget: rollouts, budgetTokens: tokens, budgetUsd: usd, minutes, priceInput, priceOutput } = options;
  if ((priceInput === undefined) !== (priceOutput === undefined)) throw new TrainerError('bad_input', 'Give both prices, --price-input and --price-output.');
  if (usd !== undefined && priceInput === undefined) throw new TrainerError('bad_input', '--budget-usd needs the prices of the model: give --price-input and --price-output.');
  const limits = Object.fromEntries(Object.entries({ rollouts, tokens, usd, minutes }).filter(([, limit]) => limit !== undefined));
  const algorithm = OptimizeAlgorithm.safeParse(options.algorithm ?? 'gepa');
  if (!algorithm.success) throw new TrainerError('bad_input', `--algorithm must be one of ${OptimizeAlgorithm.options.join(', ')}, not "${options.algorithm}".`);
  return OptimizeRequest.parse({
    algorithm: algorithm.data,
    ...(Object.keys(limits).length > 0 ? { budget: limits } : {}),
    validation: absolute(options.validation), test: absolute(options.test),
    prompts: options.prompt,
    optimizer: options.optimizer === undefined ? undefined : endpointOf(options.optimizer),
    prices: priceInput === undefined ? undefined : { input: priceInput, output: priceOutput },
  });
}

function endpointOf(text: string): ChosenModel {
  const [url = text, ...name] = text.split('#');
  if (!/^https?:/i.test(url) || !URL.canParse(url)) throw new TrainerError('bad_input', `--optimizer must be the URL of an OpenAI-compatible server, like http://127.0.0.1:11434/v1#model, not "${text}".`);
  return { kind: 'endpoint', url, ...(name.length > 0 ? { name: name.join('#') } : {}), api_key_env: 'OPENAI_API_KEY' };
}

function absolute(file: string | undefined): string | undefined {
  return file === undefined ? undefined : path.resolve(file);
}
