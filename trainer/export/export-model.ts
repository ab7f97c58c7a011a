import path from 'node:path';
import { fetchModel } from '../models/hub/fetch-model.ts';
import { TrainerError } from '../protocol/errors.ts';
import { exportGguf, ggufTypes } from './gguf.ts';
import { exportHuggingFace, huggingFaceTypes } from './hugging-face.ts';
import { exportOllama } from './ollama.ts';
import { exportOnnx, onnxTypes } from './onnx.ts';
import { exportPeft, peftTypes } from './peft.ts';

/** Types of the weights that a format can have; the first is what it has unless told otherwise. */
export const weightTypes = { hf: huggingFaceTypes, gguf: ggufTypes, ollama: ggufTypes, onnx: onnxTypes, peft: peftTypes } as const;
export type ExportFormat = keyof typeof weightTypes;
export const exportFormats = Object.keys(weightTypes) as ExportFormat[];

/** `source`: a Hugging Face folder, a GGUF file or a model of the hub. `type`: of the weights; null for the format's usual one, which of `hf` is that of the source. */
export interface ExportRequest { source: string; format: ExportFormat; type: string | null; out: string }

/** Writes a model for other programs; `out` appears when it is complete. Throws TrainerError, 'conflict' when `out` exists. */
export async function exportModel({ source: model, format, type, out }: ExportRequest): Promise<void> {
  const ofFormat = <Type extends string>(types: readonly Type[]): Type | null => {
    const known = types.find((each) => each === type) ?? null;
    if (type !== null && known === null) throw new TrainerError('bad_input', `Weights of type "${type}" cannot be written as ${format}. Choose one of ${types.join(', ')}.`);
    return known;
  };
  const source = await fetchModel(model);
  const name = path.basename(out).replace(/\.gguf$/i, '');
  switch (format) {
    case 'hf': return exportHuggingFace(source, out, ofFormat(huggingFaceTypes));
    case 'gguf': return exportGguf(source, out, ofFormat(ggufTypes) ?? ggufTypes[0], name);
    case 'peft': {
      ofFormat(peftTypes);
      return exportPeft(source, out);
    }
    case 'onnx': {
      ofFormat(onnxTypes);
      return exportOnnx(source, out);
    }
    case 'ollama': return exportOllama(source, out, ofFormat(ggufTypes) ?? ggufTypes[0], name);
  }
}
