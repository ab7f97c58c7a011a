import type { Log } from '../log.ts';
import type { NodeProgram } from './find-node.ts';
import { findRunningTrainer } from './handshake.ts';
import { RpcClient } from './rpc-client.ts';
import type { Connection } from './rpc-client.ts';
import { spawnTrainer } from './spawn-trainer.ts';
import type { TrainerProcess } from './spawn-trainer.ts';

/** The trainer of a folder: the one that runs there (process: null), else a new one. @throws TrainerError */
export async function openTrainer({ folder, cli, findNode, log }: { folder: string; cli: string; findNode: () => Promise<NodeProgram>; log: Log }): Promise<{ client: RpcClient; connection: Connection; process: TrainerProcess | null }> {
  let process: TrainerProcess | null = null;
  let connection = await findRunningTrainer(folder);
  if (connection === null) {
    process = await spawnTrainer({ node: await findNode(), cli, folder, log: (line) => { log.info(`[trainer] ${line}`); } });
    connection = process.connection;
  }
  log.info(`${process === null ? 'Found the running trainer' : `Started the trainer (pid ${process.pid})`} of ${folder} at ${connection.url}`);
  return { client: await RpcClient.connect(connection), connection, process };
}
