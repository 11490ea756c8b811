import type { Connection, RequestOptions } from "./connection.js";
import type { OutgoingRequest } from "./exchange.js";
import { exchange } from "./exchange.js";
import type { InputLocations } from "./outgoing.js";
import { sortInput } from "./outgoing.js";

/** A body that is sent as it is. */
export interface RawBodyInput<MediaType extends string = string> {
  body: Uint8Array | Blob | string;
  /** Default: the first one the operation names. */
  mediaType?: MediaType;
}

/** An operation whose body is sent as it is. */
export function withBytes(
  operation: string,
  mediaType: string,
  input: RawBodyInput,
  locations?: InputLocations,
): OutgoingRequest {
  const { path, query, headers, rest } = sortInput(operation, input, locations);
  return {
    operation,
    headers: { ...headers, "content-type": input.mediaType ?? mediaType },
    params: { path, query },
    body: rest.body,
    bodySerializer: (body) => body,
  };
}

/** An operation whose response is bytes. */
export async function readBytes(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): Promise<Uint8Array> {
  const { data, deadline } = await exchange(connection, outgoing, options, "arrayBuffer");
  deadline.release();
  // Undefined is a response without content.
  return new Uint8Array((data as ArrayBuffer | undefined) ?? []);
}
