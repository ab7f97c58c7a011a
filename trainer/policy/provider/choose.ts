import type { DecoderConfig } from '../../models/decoder-config.ts';
import { providerLabels, type Provider, type ProviderChoice, type ProviderTrial } from '../../protocol/providers.ts';
import { significant } from '../../protocol/significant.ts';
import { candidates, thisPlatform, type Candidate } from './candidates.ts';
import { choiceKey, knownChoice, rememberChoice } from './choice-cache.ts';
import { probe } from './probe.ts';
import { sizeClass } from './time-provider.ts';

export interface ChooseOptions {
  threads: number;
  signal?: AbortSignal;
  /** Measures although the choice is known. */
  again?: boolean;
  /** Called before each provider is tried. */
  onProbe?: (provider: Provider) => void;
}

/** Of one provider. A GPU needs time to begin with; what then takes 20 times as long as the CPU is a processor that plays one. */
const limitMs = { cpu: 300_000, others: (cpuMs: number) => Math.max(30_000, 20 * cpuMs) };

/**
 * The fastest provider for models as wide as this one among those that pass the self-test, each tried in a process of its own with a limit of time.
 * Nothing is tried where there is the CPU alone. Remembered until machine, drivers, packages or sizes change.
 */
export async function chooseProvider(config: DecoderConfig, { threads, signal, again = false, onProbe }: ChooseOptions): Promise<ProviderChoice> {
  const here = candidates(thisPlatform());
  const size = sizeClass(config);
  const key = await choiceKey(size, threads, here);
  const known = again ? null : await knownChoice(key);
  if (known) return known;
  let cpuMs = 0;
  const choice = decide(await tryAll(here, async (provider) => {
    onProbe?.(provider);
    const began = performance.now();
    const trial = await probe({ provider, threads, config: size }, { limitMs: provider === 'cpu' ? limitMs.cpu : limitMs.others(cpuMs), ...(signal ? { signal } : {}) });
    if (provider === 'cpu') cpuMs = performance.now() - began;
    return trial;
  }));
  await rememberChoice(key, choice).catch(() => undefined); // it is measured again next time
  return choice;
}

/** Tries what is installed, one after the other: together they would slow each other down. The CPU comes first, as the measure. */
export async function tryAll(here: readonly Candidate[], attempt: (provider: Provider) => Promise<ProviderTrial>): Promise<ProviderTrial[]> {
  const trials: ProviderTrial[] = [];
  const alone = here.every(({ provider, missing }) => provider === 'cpu' || missing !== null);
  for (const { provider, missing } of here) {
    if (missing !== null) trials.push({ provider, refused: missing });
    else trials.push(alone ? { provider, refused: null, timing: null } : await attempt(provider));
  }
  return trials;
}

/** The CPU always computes; when not even it could be timed, it is the choice. */
export function decide(trials: readonly ProviderTrial[]): ProviderChoice {
  const timed = trials.flatMap((trial) => (trial.refused === null && trial.timing !== null ? [{ provider: trial.provider, ms: trial.timing.per_token }] : []));
  const best = timed.toSorted((a, b) => a.ms - b.ms)[0] ?? { provider: 'cpu' as const, ms: NaN };
  const speeds = timed.filter(({ provider }) => provider !== best.provider).map(({ provider, ms }) => `${significant(ms / best.ms, 2)} × as fast as ${providerLabels[provider]}`);
  const refusals = trials.flatMap(({ provider, refused }) => (refused === null ? [] : [`${providerLabels[provider]}: ${refused}`]));
  const reason = [
    speeds.length > 0 ? speeds.join(', ') : 'the only provider here',
    ...refusals,
  ].join('; ');
  return { provider: best.provider, reason, trials: [...trials] };
}

/** "CPU (the only provider here; WebGPU: No supported adapters)". */
export function describeChoice({ provider, reason }: Pick<ProviderChoice, 'provider' | 'reason'>): string {
  return `${providerLabels[provider]} (${reason})`;
}
