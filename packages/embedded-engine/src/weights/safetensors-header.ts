import { HeddleError } from "@heddle/errors";
import { isJsonObject, parseJsonObject } from "@heddle/exact-json";

/** Bytes per element of each type of the format, except types smaller than a byte. */
const elementBytes: Record<string, number> = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E5M2: 1,
  F8_E4M3: 1,
  F8_E8M0: 1,
  U16: 2,
  I16: 2,
  F16: 2,
  BF16: 2,
  U32: 4,
  I32: 4,
  F32: 4,
  U64: 8,
  I64: 8,
  F64: 8,
  C64: 8,
};

/** Maximum length of a header. Typical ones have about 100 bytes per tensor. */
export const maxHeaderBytes = 16 * 2 ** 20;

export interface TensorInfo {
  name: string;
  dtype: string;
  shape: number[];
  elements: number;
  /** Byte range, counted from the end of the header. */
  begin: number;
  end: number;
}

export interface SafetensorsHeader {
  tensors: Map<string, TensorInfo>;
  metadata: Record<string, string>;
}

/**
 * Parses the JSON header of a safetensors file, which is untrusted input. Checks that the ranges of the tensors fit
 * their shapes and cover the data of the file exactly once.
 *
 * @param dataBytes number of bytes after the header.
 * @param file name of the file, for messages.
 * @throws HeddleError `invalid`, naming file and tensor.
 */
export function parseHeader(header: Uint8Array, dataBytes: number, file: string): SafetensorsHeader {
  const entries = parseJsonObject(header, file);
  const tensors = new Map<string, TensorInfo>();
  let metadata: Record<string, string> = {};
  for (const [name, entry] of Object.entries(entries)) {
    if (name === "__metadata__") metadata = readMetadata(entry, file);
    else tensors.set(name, readTensor(name, entry, dataBytes, file));
  }
  checkCoverage([...tensors.values()], dataBytes, file);
  return { tensors, metadata };
}

/** Returns the error for a tensor of a file. */
export function tensorError(file: string, tensor: string, what: string): HeddleError {
  const name = tensor.length > 200 ? `${tensor.slice(0, 200)}…` : tensor;
  return new HeddleError("invalid", `${file}: tensor ${JSON.stringify(name)} ${what}`, {
    details: { file, tensor: name },
  });
}

function readMetadata(entry: unknown, file: string): Record<string, string> {
  const isText = (value: unknown): value is string => typeof value === "string";
  if (!isJsonObject(entry) || !Object.values(entry).every(isText)) {
    throw tensorError(file, "__metadata__", "is not a map of strings");
  }
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, String(value)]));
}

function readTensor(name: string, entry: unknown, dataBytes: number, file: string): TensorInfo {
  const fail = (what: string) => tensorError(file, name, what);
  if (!isJsonObject(entry)) throw fail("is not described by an object");
  const { dtype, shape, data_offsets: offsets } = entry;
  const width = typeof dtype === "string" && Object.hasOwn(elementBytes, dtype) ? elementBytes[dtype] : undefined;
  if (typeof dtype !== "string" || width === undefined) throw fail(`has the unknown dtype ${formatValue(dtype)}`);
  if (!isCounts(shape)) throw fail(`has the shape ${formatValue(shape)}, not a list of counts`);
  if (!isCounts(offsets) || offsets.length !== 2)
    throw fail(`has the data_offsets ${formatValue(offsets)}, not two counts`);
  const elements = shape.reduce((product, length) => product * length, 1);
  if (!Number.isSafeInteger(elements * width)) throw fail(`has the invalid shape ${formatValue(shape)}`);
  const [begin = 0, end = 0] = offsets;
  if (begin > end || end > dataBytes) {
    throw fail(`lies at bytes ${begin} to ${end}, but the file has ${dataBytes} bytes of data`);
  }
  if (end - begin !== elements * width) {
    throw fail(
      `needs ${elements * width} bytes for shape ${formatValue(shape)} in ${dtype}, but its range has ${end - begin}`,
    );
  }
  return { name, dtype, shape, elements, begin, end };
}

function checkCoverage(tensors: TensorInfo[], dataBytes: number, file: string): void {
  let covered = 0;
  for (const { name, begin, end } of tensors.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin < covered) throw tensorError(file, name, `overlaps the tensor before it, which ends at byte ${covered}`);
    if (begin > covered) throw tensorError(file, name, `begins at byte ${begin}, after a gap from byte ${covered}`);
    covered = end;
  }
  if (covered !== dataBytes) {
    throw new HeddleError("invalid", `${file} has ${dataBytes} bytes of data, its tensors only ${covered}`, {
      details: { file },
    });
  }
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
