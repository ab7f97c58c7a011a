// Makes TypeScript and `agent-trainer/runtime` importable in a worker: `node --import register.mjs …`.
import * as module from 'node:module';
import { load, resolve } from './hooks.mjs';

// In-thread hooks also cover `require` and need no second thread; older Node has only the other kind.
if (module.registerHooks) module.registerHooks({ load, resolve });
else {
  module.register('./hooks.mjs', import.meta.url);
  // Those hooks do not reach `require`, so it is handed the runtime as it is loaded here.
  const runtime = await import('agent-trainer/runtime');
  const { _load } = module.Module;
  module.Module._load = function (request, ...rest) {
    return request === 'agent-trainer/runtime' ? runtime : _load.call(this, request, ...rest);
  };
}
