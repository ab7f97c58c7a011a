// Starts the worker when the program runs from its TypeScript source: threads do not inherit tsx.
import { register } from 'tsx/esm/api';

register();
await import('./worker.ts');
