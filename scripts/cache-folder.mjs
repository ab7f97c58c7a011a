import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where scripts keep what is installed or fetched once for the tests, outside the repository. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'agent-trainer');
