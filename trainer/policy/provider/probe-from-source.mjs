// Starts the probe when the program runs from its TypeScript source.
import { register } from 'tsx/esm/api';

register();
await import('./probe-process.ts');
