import type { AnyRequestOptions, Connection } from "./connection.js";
import { readItems } from "./items.js";
import type { OutgoingRequest } from "./request.js";

/**
 * An operation whose response is JSON Lines, item by item. The request is sent when the first item is asked for;
 * leaving the loop closes the connection.
 */
export function readJsonLines<Item>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: AnyRequestOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const itemOf = (line: string) => (line.trim() ? line : undefined);
  return readItems(connection, outgoing, options, { itemOf }) as AsyncGenerator<Item, void, undefined>;
}
