import type { InputLocations } from "./outgoing.js";
import { sortInput } from "./outgoing.js";
import type { OutgoingRequest } from "./request.js";

type Part = string | number | boolean | Blob | Uint8Array<ArrayBuffer> | null | undefined;

/** An operation with a multipart body. A `File` names its part's file; other bytes go under the name `blob`. */
export function withForm(
  operationId: string,
  operation: string,
  input: object,
  locations?: InputLocations,
): OutgoingRequest {
  const { rest, ...sorted } = sortInput(operation, input, locations);
  const form = new FormData();
  for (const [name, part] of Object.entries(rest) as [string, Part][]) {
    if (part === undefined || part === null) continue;
    if (part instanceof Uint8Array) form.append(name, new Blob([part]));
    else if (part instanceof Blob) form.append(name, part);
    else form.append(name, String(part));
  }
  return { operationId, operation, ...sorted, body: () => form };
}
