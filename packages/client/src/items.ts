import { describeCause } from "./cause.js";
import type { AnyRequestOptions, Connection } from "./connection.js";
import { HeddleApiError } from "./error.js";
import { exchange } from "./exchange.js";
import { excerpt } from "./excerpt.js";
import { notJson } from "./not-json.js";
import { parserOf } from "./parser.js";
import type { OutgoingRequest } from "./request.js";

/** How the items of a streamed response are separated. */
export interface StreamFormat {
  /** The text of the item that a line completes, if it does. Lines come without their ends. */
  itemOf(line: string): string | undefined;
  /** The text after the last item, where a complete stream has one. */
  readonly end?: string;
}

/**
 * The items of a streamed response as they arrive, parsed. Leaving the loop early closes the connection. A stream that ends
 * early is an error that says how many items there were.
 */
export async function* readItems(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: AnyRequestOptions,
  format: StreamFormat,
): AsyncGenerator<unknown, void, undefined> {
  const parseJson = await parserOf(connection, outgoing, options);
  const {
    data: body,
    response,
    deadline,
  } = await exchange(connection, outgoing, options, async (begun) => {
    if (!/html|xml/.test(begun.headers.get("content-type") ?? "")) return begun.body;
    throw notJson(outgoing, begun, await begun.text());
  });
  const reader = body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => undefined);
  // A fetch that serves from the same process may not watch the signal while its body is read.
  deadline.signal.addEventListener("abort", cancel);
  let items = 0;
  const endedEarly = (why: string, cause?: unknown) => {
    const reason = `the stream ended after ${items} ${items === 1 ? "item" : "items"}${why}`;
    return new HeddleApiError(outgoing, { headers: response.headers, reason, cause });
  };
  const parse = (text: string, isLast: boolean) => {
    try {
      return parseJson(text);
    } catch (cause) {
      if (items === 0) throw notJson(outgoing, response, text, cause);
      if (isLast) throw endedEarly(", in the middle of the next", cause);
      const { status, headers } = response;
      const reason = `item ${items + 1} of the stream is not JSON: ${excerpt(text)}`;
      throw new HeddleApiError(outgoing, { status, headers, body: text, cause, reason });
    }
  };
  try {
    const decoder = new TextDecoder();
    let unfinished = "";
    for (let isLast = false; !isLast;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      options.signal?.throwIfAborted();
      isLast = done;
      // Joined, not searched again: a line of many megabytes arrives in many chunks.
      const [first = "", ...lines] = decoder.decode(value, { stream: !done }).split("\n");
      lines.unshift(unfinished + first);
      unfinished = done ? "" : lines.pop()!;
      for (const line of lines) {
        // What follows the last line end is not an empty line.
        if (done && line === "") continue;
        const text = format.itemOf(line);
        if (text === undefined) continue;
        if (text === format.end) return;
        const item = parse(text, done);
        items += 1;
        yield item;
      }
    }
    if (format.end !== undefined) throw endedEarly("");
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause instanceof HeddleApiError) throw cause;
    throw endedEarly(`: ${describeCause(cause, connection.host).text}`, cause);
  } finally {
    cancel();
    deadline.release();
  }
}
