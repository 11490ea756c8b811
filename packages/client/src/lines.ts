import type { Connection, RequestOptions } from "./connection.js";
import { HeddleApiError } from "./error.js";
import type { OutgoingRequest } from "./exchange.js";
import { exchange } from "./exchange.js";

/**
 * The lines of a streamed response, without their ends, as they arrive: one array per chunk of the network.
 * A last line without an end is a line too. Leaving the loop early closes the connection.
 */
export async function* readLines(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions,
): AsyncGenerator<string[]> {
  const { data, deadline } = await exchange(connection, outgoing, options, "stream");
  const stream = data as ReadableStream<Uint8Array> | null | undefined;
  const reader = stream?.getReader();
  const cancel = () => void reader?.cancel().catch(() => undefined);
  // A fetch that serves from the same process may not watch the signal while its body is read.
  deadline.signal.addEventListener("abort", cancel);
  try {
    const decoder = new TextDecoder();
    let unfinished = "";
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      options.signal?.throwIfAborted();
      if (done) break;
      const [first = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      // Joined, not searched again: a line of many megabytes arrives in many chunks.
      lines.unshift(unfinished + first);
      unfinished = lines.pop()!;
      if (lines.length > 0) yield lines;
    }
    unfinished += decoder.decode();
    if (unfinished) yield [unfinished];
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw new HeddleApiError({ operation: outgoing.operation, cause });
  } finally {
    cancel();
    deadline.release();
  }
}

export function parseItem(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HeddleApiError({ operation, body: "the stream holds an item that is not JSON: it was cut short", cause });
  }
}
