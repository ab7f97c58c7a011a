import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { lower } from '../engine/onnx/lower.ts';
import { encodeModel, type OnnxModel } from '../engine/onnx/model-proto.ts';
import { standardOperators } from '../engine/onnx/profile.ts';
import { writeDescription } from '../models/model-description.ts';
import { loadModel, type Model } from '../models/model-folder.ts';
import { textGenerationGraph } from '../models/text-generation-graph.ts';
import { writeWhole } from '../models/write-whole.ts';

export const onnxTypes = ['f32'] as const;

const dataFile = 'model.onnx_data';
/** As ONNX Runtime writes files itself, so that weights can be mapped into memory. */
const alignment = 4096;

/** Writes a folder with model.onnx, its weights in model.onnx_data, and the configuration and tokenizer of the model, in the layout of Hugging Face Optimum for text generation. */
export async function exportOnnx(source: string, folder: string): Promise<void> {
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    const model = textGenerationModel(await loadModel(source));
    await writeDescription(temporary, source, 'float32');
    let end = 0;
    const { bytes, external } = encodeModel(model, (_name, byteLength) => {
      const offset = Math.ceil(end / alignment) * alignment;
      end = offset + byteLength;
      return { path: dataFile, offset };
    });
    await writeFile(path.join(temporary, 'model.onnx'), bytes, { flush: true });
    const file = await open(path.join(temporary, dataFile), 'w');
    try {
      for (const { data, offset } of external) for (let done = 0; done < data.length;) done += (await file.write(data, done, Math.min(data.length - done, 2 ** 30), offset + done)).bytesWritten;
      await file.sync();
    } finally {
      await file.close();
    }
  });
}

/** The weights are inputs of the graph for their names' sake, and parts of the file. */
function textGenerationModel({ config, weights }: Model): OnnxModel {
  const { graph, axes } = textGenerationGraph(config);
  const model = lower(graph, standardOperators, axes);
  return {
    ...model, inputs: new Map([...model.inputs].filter(([name]) => !weights.tensors.has(name))), initializers: new Map([...weights.tensors, ...model.initializers]),
  };
}
