interface Overlaid { overlay: string | null }

export interface Deal<R, W> {
  /** Rollouts for idle workers that have their overlay. */
  matches: { rollout: R; worker: W }[];
  /** Idle workers that nobody wants as they are. */
  spare: W[];
  /** Overlays that further workers should load, those of the oldest rollouts first. */
  wanted: (string | null)[];
}

/**
 * Who takes which of the waiting rollouts (the oldest first): idle workers that fit, then those that are loading what is
 * wanted; the rest needs workers of its own. Look at no more rollouts than workers are idle or coming, and none starves:
 * for the one that was overtaken a worker is left to be replaced.
 */
export function deal<R extends Overlaid, W extends Overlaid>(waiting: readonly R[], idle: readonly W[], loading: readonly W[]): Deal<R, W> {
  const spare = [...idle];
  const coming = [...loading];
  const result: Deal<R, W> = { matches: [], spare, wanted: [] };
  for (const rollout of waiting) {
    const worker = take(spare, rollout);
    if (worker) result.matches.push({ rollout, worker });
    else if (!take(coming, rollout)) result.wanted.push(rollout.overlay);
  }
  return result;
}

function take<W extends Overlaid>(workers: W[], { overlay }: Overlaid): W | undefined {
  const index = workers.findIndex((worker) => worker.overlay === overlay);
  return index < 0 ? undefined : workers.splice(index, 1)[0];
}
