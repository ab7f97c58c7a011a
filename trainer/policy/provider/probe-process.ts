import { selfTest } from '../../engine/self-test.ts';
import { messageOf } from '../../protocol/errors.ts';
import type { ProbeAnswer, ProbeRequest } from './probe-messages.ts';
import { timeProvider } from './time-provider.ts';

// A process of its own: the driver of a GPU may abort or hang.
process.on('message', (request: ProbeRequest) => {
  void probe(request).then((answer) => process.send?.(answer, () => process.exit(0)));
});

async function probe({ provider, threads, config }: ProbeRequest): Promise<ProbeAnswer> {
  try {
    await selfTest({ provider, threads });
    return { timing: await timeProvider(config, { provider, threads }) };
  } catch (error) {
    return { refused: messageOf(error) };
  }
}
