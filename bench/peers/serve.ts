import { createInterface } from 'node:readline';

/** Answers jobs, one JSON object a line, until standard input ends: the other side of `PeerProcess`. */
export async function serve<Job>(answer: (job: Job) => Promise<object>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const result = await answer(JSON.parse(line) as Job);
    process.stdout.write(`${JSON.stringify({ ...result, peak_mb: process.resourceUsage().maxRSS * 1024 / 1e6 })}\n`);
  }
}

/** Seconds of wall clock and of CPU (all threads of the process) that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<{ seconds: number; cpu: number }> {
  const [start, before] = [process.hrtime.bigint(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9, cpu: (user + system) / 1e6 };
}
