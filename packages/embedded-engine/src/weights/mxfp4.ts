import { formatValue } from "./config-fields.js";
import type { Tensors } from "./sharded-tensors.js";

// MXFP4 (OCP Microscaling Formats 1.0): blocks of 32 numbers of 4 bits (sign, two bits of exponent, one of fraction), two in a byte
// with the first in the lower half, and a power of two for each block. gpt-oss has the experts' matrices so, transposed:
// `<name>_blocks` [experts, outputs, blocks, 16] and `<name>_scales` [experts, outputs, blocks] stand for `<name>` [experts, inputs,
// outputs].

const blockBytes = 16;
const numbers = Float32Array.of(0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6);
/** A scale is the exponent of a power of two, above this. */
const bias = 127;
/** The scale that stands for no number. */
const notANumber = 255;

/** The tensors of a file with those in MXFP4 under the names, and in the shapes, of what they stand for. */
export function withExpandedMxfp4(tensors: Tensors): Tensors {
  const packed = new Map<string, { blocks: string; scales: string }>();
  for (const name of tensors.names()) {
    if (!name.endsWith("_blocks")) continue;
    const whole = name.slice(0, -"_blocks".length);
    packed.set(whole, { blocks: name, scales: `${whole}_scales` });
  }
  if (packed.size === 0) return tensors;
  const parts = new Set([...packed.values()].flatMap(({ blocks, scales }) => [blocks, scales]));
  return {
    ...tensors,
    *names() {
      yield* packed.keys();
      for (const name of tensors.names()) if (!parts.has(name)) yield name;
    },
    infoOf: (name) => (packed.has(name) ? undefined : tensors.infoOf(name)),
    require(name, shape) {
      const names = packed.get(name);
      if (!names) return tensors.require(name, shape);
      if (tensors.infoOf(name)) throw tensors.error(name, `is in the file a second time, as ${names.blocks}`);
      const [experts = 0, inputs = 0, outputs = 0] = shape;
      if (shape.length !== 3 || inputs % (2 * blockBytes)) {
        throw tensors.error(names.blocks, `cannot stand for the shape ${formatValue(shape)}`);
      }
      const blocks = inputs / (2 * blockBytes);
      tensors.require(names.blocks, [experts, outputs, blocks, blockBytes]);
      tensors.require(names.scales, [experts, outputs, blocks]);
      for (const each of Object.values(names)) {
        const dtype = tensors.infoOf(each)?.dtype;
        if (dtype !== "U8") throw tensors.error(each, `is ${dtype}; MXFP4 has U8`);
      }
    },
    async read(name, into) {
      const names = packed.get(name);
      if (!names) return tensors.read(name, into);
      const scales = await tensors.readBytes(names.scales);
      if (scales.includes(notANumber)) throw tensors.error(names.scales, "has numbers that are not finite");
      const [, outputs = 0, blocks = 0] = tensors.infoOf(names.scales)?.shape ?? [];
      return expanded(await tensors.readBytes(names.blocks), scales, { outputs, blocks }, into);
    },
  };
}

/** Returns [experts, inputs, outputs]. */
function expanded(
  packed: Uint8Array,
  scales: Uint8Array,
  { outputs, blocks }: { outputs: number; blocks: number },
  into: Float32Array = new Float32Array(2 * packed.length),
): Float32Array {
  const inputs = 2 * blockBytes * blocks;
  for (let block = 0; block < scales.length; block++) {
    const scale = 2 ** (scales[block]! - bias);
    const row = Math.floor(block / blocks);
    const [expert, output] = [Math.floor(row / outputs), row % outputs];
    const first = 2 * blockBytes * (block % blocks);
    for (let at = 0; at < blockBytes; at++) {
      const byte = packed[block * blockBytes + at]!;
      const to = (expert * inputs + first + 2 * at) * outputs + output;
      into[to] = numbers[byte & 15]! * scale;
      into[to + outputs] = numbers[byte >>> 4]! * scale;
    }
  }
  return into;
}
