import type { AnyRequestOptions, Connection } from "./connection.js";
import { HeddleApiError } from "./error.js";
import { readItems } from "./items.js";
import type { OutgoingRequest } from "./request.js";

/**
 * An operation whose response is server-sent events: the JSON of each event's data, up to `[DONE]`.
 * An event that carries `{"error": …}` is the failure of a stream that had already begun; it is thrown.
 */
export async function* readEvents<Item>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: AnyRequestOptions = {},
): AsyncGenerator<Item, void, undefined> {
  for await (const item of readItems(connection, outgoing, options, eventData())) {
    const { error } = item as { error?: { code?: unknown } };
    if (error) throw new HeddleApiError(outgoing, { status: Number(error.code) || 500, body: item });
    yield item as Item;
  }
}

function eventData() {
  let data: string[] = [];
  return {
    end: "[DONE]",
    itemOf(line: string) {
      // Lines may end in CR LF; names other than data (event, id, retry, comments) carry nothing here.
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text.startsWith("data:")) data.push(text.slice(text[5] === " " ? 6 : 5));
      if (text !== "" || data.length === 0) return undefined;
      const event = data.join("\n");
      data = [];
      return event;
    },
  };
}
