import { z } from 'zod';
import type { DecoderConfig } from '../../models/decoder-config.ts';
import { ProviderTiming, type Provider } from '../../protocol/providers.ts';

/** Parent → process. */
export interface ProbeRequest { provider: Provider; threads: number; config: DecoderConfig }
/** Process → parent. */
export const ProbeAnswer = z.union([z.object({ timing: ProviderTiming }), z.object({ refused: z.string() })]);
export type ProbeAnswer = z.infer<typeof ProbeAnswer>;
