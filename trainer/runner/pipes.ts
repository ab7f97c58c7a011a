/**
 * Resolves when everything that was in the pipes of child processes has been emitted. One turn of the event loop is not enough: the
 * message that told us to look may itself have been read in a turn that began before the output was there.
 */
export async function pipesAreRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
