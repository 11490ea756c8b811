import type { Connection, RequestOptions } from "./connection.js";
import { exchange } from "./exchange.js";
import type { InputLocations } from "./outgoing.js";
import { sortInput } from "./outgoing.js";
import type { OutgoingRequest, RequestBody } from "./request.js";

/** A body that is sent as it is. */
export interface RawBodyInput<MediaType extends string = string> {
  body: Uint8Array | Blob | string;
  /** Default: the first one the operation names. */
  mediaType?: MediaType;
}

/** An operation whose body is sent as it is. */
export function withBytes(
  operationId: string,
  operation: string,
  mediaType: string,
  { body, mediaType: chosen = mediaType, ...input }: RawBodyInput,
  locations?: InputLocations,
): OutgoingRequest {
  const { path, query, headers } = sortInput(operation, input, locations);
  return {
    operationId,
    operation,
    path,
    query,
    headers: { ...headers, "content-type": chosen },
    body: () => body as RequestBody,
  };
}

/** An operation whose response is bytes. */
export async function readBytes(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): Promise<Uint8Array> {
  const { data, deadline } = await exchange(connection, outgoing, options, (response) => response.arrayBuffer());
  deadline.release();
  return new Uint8Array(data);
}
