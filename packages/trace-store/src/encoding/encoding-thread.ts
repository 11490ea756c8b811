import { serveTasks } from "@heddle/concurrency";
import type { JsonText } from "@heddle/exact-json";
import { valueDigest } from "@heddle/trace-model";
import { encodeCall, packCall } from "./encode-call.js";
import type { CallSides, PackedCall } from "./encode-call.js";
import { encodeRow } from "./encode-row.js";
import type { TableRowText } from "./encode-row.js";
import { encodeValue } from "./encode-value.js";
import type { EncodedValue, SentValue } from "./encode-value.js";
import { fromPieces } from "./text-pieces.js";
import type { Pieced } from "./text-pieces.js";

const tasks = {
  call(sides: Pieced<CallSides>): PackedCall {
    const packed = packCall(encodeCall(fromPieces(sides)));
    return { ...packed, bytes: alone(packed.bytes) };
  },
  value(sent: Pieced<SentValue>): EncodedValue {
    const encoded = encodeValue(fromPieces(sent));
    return { ...encoded, content: alone(encoded.content) };
  },
  rowDigest: (row: Pieced<{ row: JsonText }>): string => valueDigest(fromPieces(row).row),
  row: (text: Pieced<TableRowText>): Uint8Array => alone(encodeRow(fromPieces(text))),
};
export type EncodingTasks = typeof tasks;

serveTasks(tasks);

/** The bytes without the memory around them, which would be copied with them. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
