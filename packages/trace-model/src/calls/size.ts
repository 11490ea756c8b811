import type { JsonText } from "../json/scan.js";

/** UTF-8 bytes of the four JSON fields of a call, which is what its storage size means. Absent fields are 0. */
export function callSizeBytes(call: {
  attributes?: JsonText;
  inputs?: JsonText;
  output?: JsonText;
  summary?: JsonText;
}): number {
  return (
    Buffer.byteLength(call.attributes ?? "") +
    Buffer.byteLength(call.inputs ?? "") +
    Buffer.byteLength(call.output ?? "") +
    Buffer.byteLength(call.summary ?? "")
  );
}
