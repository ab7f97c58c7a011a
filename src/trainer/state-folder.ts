import { join } from 'node:path';

/** Where trainer and extension keep what belongs to a workspace. */
export const stateFolder = '.agent-trainer';

/** Where a trainer says how to reach it, while it lives. */
export const serverFileOf = (folder: string): string => join(folder, stateFolder, 'server.json');
