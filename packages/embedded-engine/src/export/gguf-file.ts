import type { WrittenParts } from "./written-parts.js";

/** A value of the metadata with its type. */
export type GgufValue =
  | { type: "uint32" | "int32" | "float32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "int32s"; value: readonly number[] };

export interface GgufTensor {
  name: string;
  /** As in C: the last one changes fastest. The file has them in reverse. */
  shape: readonly number[];
  format: "F32" | "BF16";
  parts(): AsyncIterable<Uint8Array>;
}

export interface GgufContent {
  metadata: ReadonlyMap<string, GgufValue>;
  tensors: readonly GgufTensor[];
}

const version = 3;
const alignment = 32;
const tensorTypes = { F32: 0, BF16: 30 } as const;
const widths = { F32: 4, BF16: 2 } as const;
const valueTypes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, strings: 9, int32s: 9 } as const;

/** Writes a file in the format GGUF, version 3: header, metadata, the table of tensors, then their numbers, each aligned. */
export function ggufFile({ metadata, tensors }: GgufContent): WrittenParts {
  const header = headerOf(metadata, tensors);
  const start = aligned(header.length);
  // Parts belong to their reader: a thread gives them away.
  const padding = start - header.length;
  const bytes = tensors.reduce((sum, tensor) => sum + aligned(sizeOf(tensor)), start);
  return {
    bytes,
    async *parts() {
      yield header;
      yield new Uint8Array(padding);
      for (const tensor of tensors) {
        yield* tensor.parts();
        const size = sizeOf(tensor);
        yield new Uint8Array(aligned(size) - size);
      }
    },
  };
}

const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;

function sizeOf({ shape, format }: GgufTensor): number {
  return shape.reduce((product, length) => product * length, widths[format]);
}

function headerOf(metadata: GgufContent["metadata"], tensors: readonly GgufTensor[]): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from("GGUF"), uint32(version), uint64(tensors.length), uint64(metadata.size)];
  for (const [key, value] of metadata) parts.push(text(key), uint32(valueTypes[value.type]), ...valueBytes(value));
  let offset = 0;
  for (const tensor of tensors) {
    const lengths = tensor.shape.toReversed();
    parts.push(text(tensor.name), uint32(lengths.length), ...lengths.map(uint64));
    parts.push(uint32(tensorTypes[tensor.format]), uint64(offset));
    offset += aligned(sizeOf(tensor));
  }
  return Buffer.concat(parts);
}

function valueBytes({ type, value }: GgufValue): Uint8Array[] {
  if (type === "strings") return [uint32(valueTypes.string), uint64(value.length), ...value.map(text)];
  if (type === "int32s")
    return [uint32(valueTypes.int32), uint64(value.length), new Uint8Array(Int32Array.from(value).buffer)];
  if (type === "string") return [text(value)];
  if (type === "bool") return [Uint8Array.of(Number(value))];
  if (type === "float32") return [new Uint8Array(Float32Array.of(value).buffer)];
  return [type === "int32" ? new Uint8Array(Int32Array.of(value).buffer) : uint32(value)];
}

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

const uint32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const uint64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
