// Makes TypeScript and `agent-trainer/runtime` importable in a worker: `node --import register.mjs …`.
import * as module from 'node:module';
import { load, resolve } from './hooks.mjs';

// In-thread hooks also cover `require` and need no second thread; older Node has only the other kind.
if (module.registerHooks) module.registerHooks({ load, resolve });
else module.register('./hooks.mjs', import.meta.url);
