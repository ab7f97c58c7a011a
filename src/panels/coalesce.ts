/** Runs `work` at most once per interval, the last time after the last call. */
export function coalesce(work: () => void, milliseconds: number): { (): void; dispose(): void } {
  let timer: NodeJS.Timeout | null = null;
  const schedule = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      work();
    }, milliseconds);
  };
  schedule.dispose = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return schedule;
}
