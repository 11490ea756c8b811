import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { encodeMessage, encodeDouble, lengthDelimited, readFields } from "../src/tinker/protobuf.js";

interface Contract {
  release: string;
  /** Method and path of every call of the SDK; `{}` is a part of the path. */
  routes: string[];
  requests: Record<string, object>;
  responses: Record<string, object>;
  numberTypes: Record<string, number>;
  /** Number, type and cardinality of the fields of each message. */
  messages: Record<string, Record<string, [number, string, "repeated" | "single"]>>;
}

/** What the Tinker SDK sends and reads, as its package says; `pnpm tinker-contract -u` reads it again. */
export const contract = JSON.parse(readFileSync(new URL("tinker-contract.json", import.meta.url), "utf8")) as Contract;

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** Returns what is wrong with a body, or undefined. */
export function bodyError(kind: "requests" | "responses", name: string, body: unknown): string | undefined {
  const schema = contract[kind][name];
  if (schema === undefined) return `the SDK has no ${name}`;
  return ajv.validate(schema, body) ? undefined : `${name}: ${ajv.errorsText()}`;
}

export function hasRoute(method: string, path: string): boolean {
  return contract.routes.some((route) => {
    const pattern = route.replaceAll(/[.*+?^$()|[\]\\]/gu, "\\$&").replaceAll("{}", ".+");
    return new RegExp(`^${pattern}$`, "u").test(`${method} ${path}`);
  });
}

/** Decodes a message by the SDK's descriptor: fields by name, maps as lists of their entries. */
export function decodeMessage(name: string, bytes: Uint8Array): Record<string, unknown> {
  const fields = Object.entries(contract.messages[name] ?? {});
  const result: Record<string, unknown> = {};
  for (const { number, value } of readFields(bytes)) {
    const found = fields.find(([, [known]]) => known === number);
    if (found === undefined) throw new Error(`${name} has no field ${number}`);
    const [field, [, type, cardinality]] = found;
    const decoded = decodeValue(type, value);
    if (cardinality === "single") result[field] = decoded;
    else result[field] = [...((result[field] as unknown[] | undefined) ?? []), ...[decoded].flat()];
  }
  return result;
}

function decodeValue(type: string, value: Buffer | number): unknown {
  if (typeof value === "number") {
    if (["int32", "int64", "uint32", "enum"].includes(type)) return value;
    if (type === "bool") return value === 1;
    throw new Error(`a varint is no ${type}`);
  }
  if (type === "string") return value.toString("utf8");
  if (type === "bytes") return value;
  if (type === "double") return value.readDoubleLE(0);
  // Packed numbers, as a message of one field they would be its varints.
  if (type === "int64") return readPacked(value);
  return decodeMessage(type, value);
}

function readPacked(bytes: Buffer): number[] {
  const numbers: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * scale;
    scale *= 0x80;
    if (byte >= 0x80) continue;
    numbers.push(value);
    [value, scale] = [0, 1];
  }
  return numbers;
}

/** Encodes the output of a pass as the SDK decodes it: one record with a batched tensor for each name. */
export function encodeOutput(outputs: Record<string, { data: number[] }>[], metrics: Record<string, number>): Buffer {
  const number = (message: string, field: string) => contract.messages[message]![field]![0];
  const names = Object.keys(outputs[0] ?? {});
  const entries = names.flatMap((name) => {
    const rows = outputs.map((output) => Float32Array.from(output[name]!.data));
    const offsets = [0n];
    for (const row of rows) offsets.push(offsets.at(-1)! + BigInt(row.byteLength));
    const tensor = encodeMessage([
      [number("BatchedTensor", "data"), Buffer.concat(rows.map((row) => Buffer.from(row.buffer)))],
      [number("BatchedTensor", "offsets"), Buffer.from(BigInt64Array.from(offsets).buffer)],
      [number("BatchedTensor", "dtype"), contract.numberTypes["DTYPE_FLOAT32"]!],
    ]);
    const entry = encodeMessage([
      [1, name],
      [2, tensor],
    ]);
    return lengthDelimited(number("ArrayRecord", "fields"), entry);
  });
  const record = [...entries, encodeMessage([[number("ArrayRecord", "num_datums"), outputs.length]])];
  return Buffer.concat([
    encodeMessage([[number("ForwardBackwardOutput", "loss_fn_output_type"), "ArrayRecord"]]),
    ...lengthDelimited(number("ForwardBackwardOutput", "loss_fn_outputs"), Buffer.concat(record)),
    ...Object.entries(metrics).flatMap(([name, value]) =>
      lengthDelimited(
        number("ForwardBackwardOutput", "metrics"),
        Buffer.concat([encodeMessage([[1, name]]), encodeDouble(2, value)]),
      ),
    ),
  ]);
}
