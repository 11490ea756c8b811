import type { Sink } from "@heddle/server-stub";

/** Writes a body as it is made, no faster than the client takes it, and stops when the client has left. */
export async function writeAll(sink: Sink, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (sink.closed) return;
    await sink.write(chunk);
  }
}
