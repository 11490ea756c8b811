import type { Connection, RequestOptions } from "./connection.js";
import type { OutgoingRequest } from "./exchange.js";
import { parseItem, readLines } from "./lines.js";

/**
 * An operation whose response is JSON Lines, item by item. The request is sent when the first item is asked for;
 * leaving the loop closes the connection.
 */
export async function* readJsonLines<Item>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const { operation } = outgoing;
  for await (const lines of readLines(connection, outgoing, options)) {
    for (const line of lines) {
      if (line.trim()) yield parseItem(line, operation) as Item;
    }
  }
}
