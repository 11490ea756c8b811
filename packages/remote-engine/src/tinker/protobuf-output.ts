import { readFields } from "./protobuf.js";
import type { ReadField } from "./protobuf.js";
import { unknownOutcome } from "./unknown-outcome.js";

type Tensors = Record<string, { data: number[] }>;

/** How many bytes an entry of a tensor takes, and how it is read, by the number of its type. */
const types: Readonly<Record<number, { size: number; read: (bytes: Buffer, at: number) => number }>> = {
  1: { size: 4, read: (bytes, at) => bytes.readFloatLE(at) },
  2: { size: 8, read: (bytes, at) => Number(bytes.readBigInt64LE(at)) },
  3: { size: 4, read: (bytes, at) => bytes.readInt32LE(at) },
  // The upper half of a float32.
  4: { size: 2, read: (bytes, at) => upperHalf(bytes.readUInt16LE(at)) },
};

/**
 * Decodes the `ForwardBackwardOutput` of a pass into what servers return as JSON: tensors by name for each sequence, and
 * metrics.
 */
export function decodeOutput(bytes: Uint8Array): Record<string, unknown> {
  try {
    const fields = readFields(bytes);
    const metrics = messages(fields, 3).map((entry): [string, number] => {
      const value = field(entry, 2);
      return [textOf(entry, 1), value instanceof Buffer ? value.readDoubleLE(0) : 0];
    });
    return { loss_fn_outputs: messages(fields, 2).flatMap(decodeRecord), metrics: Object.fromEntries(metrics) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw unknownOutcome("the training server returned a result that cannot be read as Protocol Buffers", error);
  }
}

/** An `ArrayRecord` holds one tensor of each name for several sequences. */
function decodeRecord(record: ReadField[]): Tensors[] {
  const sequences: Tensors[] = [];
  for (const entry of messages(record, 2)) {
    const name = textOf(entry, 1);
    const [tensor = []] = messages(entry, 2);
    for (const [at, data] of split(tensor).entries()) (sequences[at] ??= {})[name] = { data };
  }
  return sequences;
}

/** The entries of a `BatchedTensor` for each sequence: those between an offset, in bytes, and the next one. */
function split(tensor: ReadField[]): number[][] {
  const [data, offsets, type] = [bytesOf(tensor, 1), bytesOf(tensor, 2), field(tensor, 3)];
  const known = typeof type === "number" ? types[type] : undefined;
  if (known === undefined) throw new RangeError("there is no such type of numbers");
  const { size, read } = known;
  return Array.from({ length: Math.max(0, offsets.length / 8 - 1) }, (_, at) => {
    const from = Number(offsets.readBigInt64LE(8 * at));
    const to = Number(offsets.readBigInt64LE(8 * at + 8));
    if (from < 0 || to < from || to > data.length) throw new RangeError("a tensor has entries outside its data");
    return Array.from({ length: Math.floor((to - from) / size) }, (_entry, index) => read(data, from + size * index));
  });
}

function messages(fields: readonly ReadField[], number: number): ReadField[][] {
  return fields.flatMap((each) =>
    each.number === number && each.value instanceof Buffer ? [readFields(each.value)] : [],
  );
}

/** The last value of a field is the one that counts. */
function field(fields: readonly ReadField[], number: number): ReadField["value"] | undefined {
  return fields.findLast((each) => each.number === number)?.value;
}

function bytesOf(fields: readonly ReadField[], number: number): Buffer {
  const value = field(fields, number);
  return value instanceof Buffer ? value : Buffer.alloc(0);
}

function textOf(fields: readonly ReadField[], number: number): string {
  return bytesOf(fields, number).toString("utf8");
}

function upperHalf(bits: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(bits, 2);
  return bytes.readFloatLE(0);
}
