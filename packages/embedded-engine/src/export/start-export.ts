import { once } from "node:events";
import { fromWireError, startThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { ExportedModel } from "@heddle/training";
import type { ExportRequest, FromExportThread } from "./export-protocol.js";

/**
 * Starts an export in a thread of its own, and resolves when it is known that the model can be written. The parts must be
 * read to their end, or the iteration be ended: that ends the thread.
 */
export async function startExport(request: ExportRequest, signal?: AbortSignal): Promise<ExportedModel> {
  const thread = startThread(new URL("./export-thread.ts", import.meta.url), { workerData: request });
  // Whoever waits for a message is told; without a listener it would end the process.
  thread.on("error", () => undefined);
  const ended = once(thread, "exit").then(() => {
    throw new HeddleError("failed", "the thread of the export has ended");
  });
  ended.catch(() => undefined);
  const end = () => void thread.terminate();
  signal?.addEventListener("abort", end);

  async function next(): Promise<FromExportThread> {
    const answer = once(thread, "message") as Promise<[FromExportThread]>;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.postMessage("next");
    const [message] = await Promise.race([answer, ended]);
    if (message.type === "error") throw fromWireError(message.error);
    return message;
  }

  // No generator: one that was not begun would not end the thread.
  const parts: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => parts,
    async next() {
      const message = await next();
      return message.type === "part" ? { value: message.part } : await this.return!();
    },
    async return() {
      signal?.removeEventListener("abort", end);
      end();
      return { value: undefined, done: true };
    },
  };

  try {
    const first = await next();
    if (first.type !== "size") throw new HeddleError("failed", "the export did not begin with its size");
    return { bytes: first.bytes, parts };
  } catch (error) {
    end();
    throw signal?.aborted ? new HeddleError("aborted", "the export was ended", { cause: error }) : error;
  }
}
