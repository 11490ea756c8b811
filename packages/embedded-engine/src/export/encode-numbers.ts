import { narrowBF16 } from "../weights/number-formats.js";

/** Types of the numbers of exported weights. */
export type ExportFormat = "F32" | "BF16";

/** Elements converted at a time, which bounds the extra memory. */
const chunk = 2 ** 20;

/** The bytes of numbers, in parts. BF16 is rounded to nearest, ties to even. */
export function* encodeNumbers(values: Float32Array, format: ExportFormat): Generator<Uint8Array> {
  for (let at = 0; at < values.length; at += chunk) {
    const part = values.subarray(at, at + chunk);
    if (format === "F32") {
      yield new Uint8Array(part.slice().buffer);
    } else {
      const words = new Uint16Array(part.length);
      narrowBF16(part, words);
      yield new Uint8Array(words.buffer);
    }
  }
}
