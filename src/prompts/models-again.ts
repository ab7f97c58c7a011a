import { StartRun } from '../../trainer/protocol/rpc.ts';
import type { ChosenModel, ModelsAgain } from '../../trainer/protocol/endpoints.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { z } from 'zod';
import { answerAsks } from '../models/answer-asks.ts';
import type { Services } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';

const Asked = z.looseObject({ request: StartRun });

/**
 * The models that a search was started with, for a call that lets it go on: the trainer keeps no keys, and asks models of the editor
 * through the connection that names them. Nothing for other runs.
 */
export async function modelsAgain({ vscode, endpoints }: Pick<Services, 'vscode' | 'endpoints'>, client: RpcClient, run: Run): Promise<ModelsAgain | undefined> {
  const asked = Asked.safeParse(run.config);
  if (run.kind !== 'optimize' || !asked.success) return undefined;
  const { model, optimize } = asked.data.request;
  const withKey = async (chosen: ChosenModel | undefined): Promise<ChosenModel | undefined> => (chosen?.kind === 'endpoint' ? { ...chosen, api_key: await endpoints.key(chosen.url) } : chosen);
  if (optimize?.optimizer?.kind === 'editor') answerAsks(vscode, client);
  return { model: await withKey(model), optimizer: await withKey(optimize?.optimizer) };
}
