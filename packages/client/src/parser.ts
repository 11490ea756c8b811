import type { AnyRequestOptions, Connection } from "./connection.js";
import type { OutgoingRequest } from "./request.js";

/** How the JSON of a response is parsed. What keeps free JSON as text is loaded when it is first asked for. */
export async function parserOf(
  connection: Connection,
  { operationId }: OutgoingRequest,
  { raw }: AnyRequestOptions,
): Promise<(text: string) => unknown> {
  if (!raw) return JSON.parse;
  const { rawParser } = await import("./raw/raw-parser.js");
  return rawParser(connection.interface, operationId);
}
