import type { Connection, RequestOptions } from "./connection.js";
import { HeddleApiError } from "./error.js";
import type { OutgoingRequest } from "./exchange.js";
import { parseItem, readLines } from "./lines.js";

/**
 * An operation whose response is server-sent events: the JSON of each event's data, up to `[DONE]`.
 * An event that carries `{"error": …}` is the failure of a stream that had already begun; it is thrown.
 */
export async function* readEvents<Item>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const { operation } = outgoing;
  let data: string[] = [];
  for await (const lines of readLines(connection, outgoing, options)) {
    for (const line of lines) {
      // Lines may end in CR LF; names other than data (event, id, retry, comments) carry nothing here.
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text.startsWith("data:")) data.push(text.slice(text[5] === " " ? 6 : 5));
      if (text !== "" || data.length === 0) continue;
      const event = data.join("\n");
      data = [];
      if (event === "[DONE]") return;
      const item = parseItem(event, operation) as { error?: { code?: unknown } };
      if (item.error) throw new HeddleApiError({ operation, status: Number(item.error.code) || 0, body: item });
      yield item as Item;
    }
  }
}
