import { blockSize } from '../engine/ops/frozen.ts';

/** Blocks of 32 values as codes with one scale: value = scale · (code - zero). */
type Bits = 'int8' | 'int4';
const zeros = { int8: 128, int4: 8 } as const;

/**
 * Rounds values to codes. int8: scale = largest magnitude / 127. int4: the value of the largest magnitude becomes code 0, that is -8, so that all 16
 * codes are used. A block of zeros has scale 0. `values`: a multiple of 32.
 */
export function quantizeBlocks(values: Float32Array, bits: Bits): { codes: Uint8Array; scales: Float32Array } {
  const blocks = values.length / blockSize;
  const scales = new Float32Array(blocks);
  const codes = new Uint8Array(bits === 'int8' ? values.length : values.length / 2);
  for (let block = 0; block < blocks; block++) {
    let extreme = 0;
    for (let i = block * blockSize; i < (block + 1) * blockSize; i++) if (Math.abs(values[i] as number) > Math.abs(extreme)) extreme = values[i] as number;
    const scale = (scales[block] = bits === 'int8' ? Math.abs(extreme) / 127 : extreme / -8);
    const inverse = scale === 0 ? 0 : 1 / scale;
    // Shifted and cut to whole numbers, which rounds. No value is beyond 127 scales of int8.
    if (bits === 'int8') for (let i = block * blockSize; i < (block + 1) * blockSize; i++) codes[i] = (values[i] as number) * inverse + (zeros.int8 + 0.5);
    else for (let i = block * blockSize; i < (block + 1) * blockSize; i++) {
      const code = Math.min(15, Math.floor((values[i] as number) * inverse + (zeros.int4 + 0.5)));
      codes[i >> 1] = (codes[i >> 1] as number) | (i % 2 === 0 ? code : code << 4);
    }
  }
  return { codes, scales };
}

/** The values that codes stand for. */
export function dequantizeBlocks(codes: Uint8Array, scales: Float32Array, bits: Bits): Float32Array {
  return Float32Array.from({ length: scales.length * blockSize }, (_, i) => {
    const code = bits === 'int8' ? codes[i] as number : ((codes[i >> 1] as number) >> (i % 2 === 0 ? 0 : 4)) & 15;
    return (scales[Math.floor(i / blockSize)] as number) * (code - zeros[bits]);
  });
}
