import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import type { DetectedAgent } from '../detect.ts';

/** A workspace folder and its `files.exclude`, as VS Code's settings have it. */
export interface ScanFolder { path: string; exclude: Record<string, boolean | { when: string }> }

export interface FileAgents { path: string; agents: DetectedAgent[] }

export interface ScanResult { files: number; parsed: number; found: FileAgents[] }

/** A file or folder that was made, changed or removed. `text`: what an editor holds of it, unsaved. */
export interface Change { path: string; text: string | null }

/** What became of changes: the files that now count, with their agents (perhaps none), and the files and folders that are gone. */
export interface Look { found: FileAgents[]; gone: string[] }

/** From the extension host to the worker. */
export type Request =
  | { id: number; kind: 'scan'; folders: ScanFolder[] }
  | { id: number; kind: 'look'; folders: ScanFolder[]; changes: Change[] }
  | { id: number; kind: 'read'; fileName: string; text: string }
  /** The prompts of one text; `fileName` as prompts are named by. */
  | { id: number; kind: 'prompts-in'; fileName: string; text: string }
  /** The prompts that reach an agent. `file`: in the folder, with forward slashes. `unsaved`: by path in the folder, what editors hold. */
  | { id: number; kind: 'prompts-of'; folder: string; file: string; name: string | null; unsaved: Record<string, string> }
  | { id: number; kind: 'cancel' };

/** From the worker to the extension host: one answer for each request but `cancel`. */
export type Answer =
  | { id: number; kind: 'scanned'; result: ScanResult }
  | { id: number; kind: 'looked'; result: Look }
  | { id: number; kind: 'read'; agents: DetectedAgent[] }
  | { id: number; kind: 'prompts'; prompts: Prompt[] }
  | { id: number; kind: 'cancelled' }
  | { id: number; kind: 'failed'; message: string };
