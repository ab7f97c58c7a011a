import { spawn, type ChildProcess } from 'node:child_process';

// Reads "+ group" and "- group"; when its input ends, the trainer is gone, however it died, and what is left is killed.
const script = `
while read -r sign group; do
  left=
  for known in "$@"; do [ "$known" = "$group" ] || left="$left $known"; done
  set -- $left
  [ "$sign" = + ] && set -- "$@" "$group"
done
for group in "$@"; do kill -s KILL -- "-$group" 2>/dev/null; done
`;

/**
 * Kills the workers when the trainer itself is killed. Workers also leave when their socket closes, but one that is stuck in a
 * loop, or a process it started, would not.
 */
export class Reaper {
  readonly #shell: ChildProcess | null;

  constructor() {
    // Its own group: a Ctrl-C in the terminal must not take it before the trainer.
    this.#shell = process.platform === 'win32' ? null : spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#shell?.on('error', () => {}); // no shell: the workers' own watch on the socket remains
    this.#shell?.stdin?.on('error', () => {});
    this.#shell?.unref();
  }

  watch(group: number): void {
    this.#shell?.stdin?.write(`+ ${group}\n`);
  }

  forget(group: number): void {
    this.#shell?.stdin?.write(`- ${group}\n`);
  }

  async close(): Promise<void> {
    const shell = this.#shell;
    if (!shell || shell.exitCode !== null || shell.pid === undefined) return;
    await new Promise((resolve) => {
      shell.ref(); // waited for from now on
      shell.once('exit', resolve);
      shell.stdin!.end();
    });
  }
}
