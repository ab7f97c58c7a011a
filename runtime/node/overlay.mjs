// Files of the workspace that are read as if they had another text: each has a copy that is read in its place.
// Children that inherit the environment and `--import` find the same copies.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const copies = new Map(Object.entries(JSON.parse(process.env.AGENT_TRAINER_OVERLAY ?? '{}')).map(([path, copy]) => [real(path), copy]));
const names = new Set([...copies.keys()].map((path) => basename(path))); // most files are told apart by their name alone

/** The copy to read in place of a path or URL; undefined: none. */
export function copyOf(file) {
  if (names.size === 0) return undefined;
  const path = file instanceof URL && file.protocol === 'file:' ? fileURLToPath(file) : Buffer.isBuffer(file) ? file.toString() : file;
  return typeof path === 'string' && names.has(basename(path)) ? copies.get(real(path)) : undefined;
}

function real(path) {
  try {
    return fs.realpathSync.native(path);
  } catch {
    return resolve(path); // not there: nothing else is called so either
  }
}

function redirect(holder, name, isRead = () => true) {
  const original = holder[name];
  holder[name] = function (file, ...rest) {
    return Reflect.apply(original, this, [(isRead(...rest) ? copyOf(file) : undefined) ?? file, ...rest]);
  };
}

if (copies.size > 0) {
  const opensToRead = (flags) => flags === undefined || flags === 'r' || flags === fs.constants.O_RDONLY || typeof flags === 'function';
  for (const name of ['readFile', 'readFileSync', 'createReadStream']) redirect(fs, name);
  for (const name of ['open', 'openSync']) redirect(fs, name, opensToRead);
  redirect(fs.promises, 'readFile');
  redirect(fs.promises, 'open', opensToRead);
  syncBuiltinESMExports();
}
