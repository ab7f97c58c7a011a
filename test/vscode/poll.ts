/** Waits for a condition by asking again and again. @throws Error when it is not met in time */
export async function until(condition: () => boolean | Promise<boolean>, milliseconds = 30_000): Promise<void> {
  for (const deadline = Date.now() + milliseconds; !await condition();) {
    if (Date.now() > deadline) throw new Error(`Not within ${milliseconds / 1000} s: ${condition.toString()}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}
