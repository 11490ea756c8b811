import type { WrittenFile } from "@heddle/durable-files";
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { ifExists } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import type { WeightFormat } from "./number-formats.js";
import { narrowBF16, weightFormats, widenBF16, widenF16 } from "./number-formats.js";
import type { SafetensorsHeader, TensorInfo } from "./safetensors-header.js";
import { maxHeaderBytes, parseHeader, tensorError } from "./safetensors-header.js";

/** Elements converted at a time, which bounds the extra memory of reading and writing. */
const chunk = 2 ** 20;

export interface SafetensorsFile extends SafetensorsHeader {
  /** Base name, for messages. */
  file: string;
  /**
   * Reads a tensor as f32 in the order of the file, into `into` if given, which must have the tensor's length. Rejects
   * with `invalid` if the tensor is missing, has no floating-point type, or the file was truncated.
   */
  read(name: string, into?: Float32Array): Promise<Float32Array>;
  /** Reads a tensor of the type U8, with the same errors. */
  readBytes(name: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens a safetensors file and checks its header. No tensor is read yet.
 *
 * @throws HeddleError `not_found` when there is no such file, `invalid` for an invalid file.
 */
export async function openSafetensors(path: string): Promise<SafetensorsFile> {
  const file = basename(path);
  const found = await ifExists(stat(path));
  if (!found) throw new HeddleError("not_found", `there is no ${file}`, { details: { file } });
  // Opening a pipe would block until it has a writer.
  if (!found.isFile()) throw new HeddleError("invalid", `${file} is not a file`, { details: { file } });
  const handle = await open(path, "r");
  try {
    const { header, dataStart } = await readHeader(handle, file);
    return {
      file,
      ...header,
      read: (name, into) => readTensor(handle, dataStart, file, name, header.tensors.get(name), into),
      async readBytes(name) {
        const info = header.tensors.get(name);
        if (!info) throw tensorError(file, name, "is missing");
        if (info.dtype !== "U8") throw tensorError(file, name, `is ${info.dtype}, not U8`);
        const bytes = new Uint8Array(info.elements);
        await readFully(handle, bytes, dataStart + info.begin, file);
        return bytes;
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readHeader(handle: FileHandle, file: string): Promise<{ header: SafetensorsHeader; dataStart: number }> {
  const { size } = await handle.stat();
  if (size < 8)
    throw new HeddleError("invalid", `${file} has ${size} bytes; a safetensors file has at least 8`, {
      details: { file },
    });
  const prefix = new Uint8Array(8);
  await readFully(handle, prefix, 0, file);
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  if (length > BigInt(maxHeaderBytes)) {
    throw new HeddleError(
      "invalid",
      `${file} declares a header of ${length} bytes; at most ${maxHeaderBytes} are read`,
      { details: { file } },
    );
  }
  const dataStart = 8 + Number(length);
  if (dataStart > size) {
    throw new HeddleError("invalid", `${file} has ${size} bytes but declares a header that ends at byte ${dataStart}`, {
      details: { file },
    });
  }
  const bytes = new Uint8Array(Number(length));
  await readFully(handle, bytes, 8, file);
  return { header: parseHeader(bytes, size - dataStart, file), dataStart };
}

async function readTensor(
  handle: FileHandle,
  dataStart: number,
  file: string,
  name: string,
  info: TensorInfo | undefined,
  into: Float32Array = new Float32Array(info?.elements ?? 0),
): Promise<Float32Array> {
  if (!info) throw tensorError(file, name, "is missing");
  if (into.length !== info.elements) {
    throw tensorError(file, name, `has ${info.elements} numbers where ${into.length} are needed`);
  }
  const { dtype } = info;
  if (!isWeightFormat(dtype)) throw tensorError(file, name, `is ${dtype}; weights are F32, F16 or BF16`);
  if (dtype === "F32") {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
    await readFully(handle, bytes, dataStart + info.begin, file);
    return into;
  }
  const widen = dtype === "F16" ? widenF16 : widenBF16;
  const words = new Uint16Array(Math.min(chunk, info.elements));
  for (let at = 0; at < info.elements; at += words.length) {
    const part = words.subarray(0, info.elements - at);
    const bytes = new Uint8Array(part.buffer, 0, part.byteLength);
    await readFully(handle, bytes, dataStart + info.begin + at * weightFormats[dtype].bytes, file);
    widen(part, into.subarray(at, at + part.length));
  }
  return into;
}

async function readFully(handle: FileHandle, into: Uint8Array, position: number, file: string): Promise<void> {
  for (let at = 0; at < into.length;) {
    const { bytesRead } = await handle.read(into, at, Math.min(into.length - at, 2 ** 26), position + at);
    if (bytesRead === 0)
      throw new HeddleError("invalid", `${file} ends at byte ${position + at}; it is truncated`, { details: { file } });
    at += bytesRead;
  }
}

function isWeightFormat(dtype: string): dtype is WeightFormat {
  return Object.hasOwn(weightFormats, dtype);
}

// Writing

export interface TensorSource {
  name: string;
  shape: number[];
  /** Called when the tensor is written, so that only one transposed copy exists at a time. */
  values(): Float32Array;
}

/**
 * Writes a new safetensors file with the tensors in the given order and syncs it to disk. The data starts at a multiple
 * of eight bytes. BF16 is rounded to nearest, ties to even.
 */
export async function writeSafetensors(
  path: string,
  tensors: TensorSource[],
  format: "F32" | "BF16",
  metadata: Record<string, string> = {},
): Promise<WrittenFile> {
  const handle = await open(path, "wx");
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    const append = async (part: Uint8Array) => {
      hash.update(part);
      for (let at = 0; at < part.length;) at += (await handle.write(part, at)).bytesWritten;
      bytes += part.length;
    };
    await append(safetensorsHeader(tensors, format, metadata));
    for (const tensor of tensors) {
      const values = tensor.values();
      for (let at = 0; at < values.length; at += chunk) await append(encode(values.subarray(at, at + chunk), format));
    }
    await handle.sync();
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    await handle.close();
  }
}

function encode(values: Float32Array, format: "F32" | "BF16"): Uint8Array {
  if (format === "F32") return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const words = new Uint16Array(values.length);
  narrowBF16(values, words);
  return new Uint8Array(words.buffer);
}

/** The bytes in front of the numbers of tensors, which follow in the same order. */
export function safetensorsHeader(
  tensors: Pick<TensorSource, "name" | "shape">[],
  format: "F32" | "BF16",
  metadata: Record<string, string> = {},
): Uint8Array {
  let end = 0;
  const entries = tensors.map(({ name, shape }) => {
    const begin = end;
    end += shape.reduce((product, length) => product * length, 1) * weightFormats[format].bytes;
    return [name, { dtype: format, shape, data_offsets: [begin, end] }] as const;
  });
  const json = JSON.stringify({ __metadata__: { format: "pt", ...metadata }, ...Object.fromEntries(entries) });
  const text = new TextEncoder().encode(json);
  const header = new Uint8Array(8 + Math.ceil(text.length / 8) * 8).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(header.length - 8), true);
  header.set(text, 8);
  return header;
}
