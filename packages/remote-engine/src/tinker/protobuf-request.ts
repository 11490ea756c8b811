import type { Datum } from "./datum.js";
import type { WireLoss } from "./loss-mapping.js";
import { encodeDouble, encodeMessage, lengthDelimited } from "./protobuf.js";

/** A pass as messages have it: one request for both kinds. */
export interface NumberedPass {
  modelId: string;
  sequenceNumber: number;
  /** Without gradients. */
  forwardOnly: boolean;
  input: Pick<WireLoss, "loss_fn_config" | "data"> & { loss_fn: string };
}

const dtypes = { float32: 1, int64: 2 } as const;

/** Encodes a `ForwardBackwardRequest`. */
export function encodePass({ modelId, sequenceNumber, forwardOnly, input }: NumberedPass): Buffer {
  const config = Object.entries(input.loss_fn_config ?? {});
  return Buffer.concat([
    encodeMessage([
      [1, modelId],
      [2, sequenceNumber],
      ...input.data.map((datum) => [3, encodeDatum(datum)] as const),
      [4, input.loss_fn],
      // The third map is the second one of servers that know texts as values, too. Those that know both prefer it.
      ...config.map(
        ([name, value]) => [5, Buffer.concat([encodeMessage([[1, name]]), encodeDouble(2, value)])] as const,
      ),
      [6, forwardOnly ? 1 : 0],
      ...config.map(
        ([name, value]) =>
          [
            7,
            encodeMessage([
              [1, name],
              [2, encodeDouble(1, value)],
            ]),
          ] as const,
      ),
    ]),
  ]);
}

function encodeDatum({ model_input: { chunks }, loss_fn_inputs: inputs }: Datum): Buffer {
  const text = ({ tokens }: (typeof chunks)[0]) =>
    encodeMessage([[1, encodeMessage([[1, bytesOf(Int32Array.from(tokens))]])]]);
  return Buffer.concat([
    ...chunks.flatMap((chunk) => lengthDelimited(1, text(chunk))),
    ...Object.entries(inputs).flatMap(([name, { data, dtype, shape }]) => {
      const numbers = dtype === "int64" ? BigInt64Array.from(data, BigInt) : Float32Array.from(data);
      const tensor = [
        ...lengthDelimited(1, bytesOf(numbers)),
        encodeMessage([
          [3, dtypes[dtype]],
          // Packed, as a repeated number is.
          [4, packed(shape)],
        ]),
      ];
      return lengthDelimited(
        2,
        encodeMessage([
          [1, name],
          [2, Buffer.concat(tensor)],
        ]),
      );
    }),
  ]);
}

function packed(values: readonly number[]): Buffer {
  // A varint alone is the second byte on of a field whose number fits into one.
  return Buffer.concat(values.map((value) => (value === 0 ? Buffer.of(0) : encodeMessage([[1, value]]).subarray(1))));
}

/** Numbers of the wire are little-endian, as those of every machine that Node runs on. */
function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
