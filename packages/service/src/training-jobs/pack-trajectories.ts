import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { Problem } from "@heddle/server-stub";
import { fromWireError, startThread } from "@heddle/threads";
import type { PackerRequest, PackerResponse } from "./packer-protocol.js";
import { TrajectoryPacker } from "./trajectory-packer.js";
import type { RlRequestHeader } from "./trajectory-packer.js";

/** Beyond so many bytes, a body is validated in a thread of its own. */
const inlineBytes = 256 * 1024;
/** What one thread may use, beside the bytes of the trajectory that it reads. */
const threadHeapMb = 1024;

/**
 * Validates the body of an RL job as it arrives, and yields its trajectories in the form in which they are stored. Large
 * bodies do not delay other requests. `header` is called with the rest of the request before the end; an error of it ends
 * the stream. Throws the Problem that the request gets.
 */
export async function* packTrajectories(
  stream: AsyncIterable<Uint8Array>,
  header: (header: RlRequestHeader) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  let thread: PackerThread | undefined;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes <= inlineBytes) held.push(chunk);
      else {
        thread ??= new PackerThread();
        for (const each of [...held, chunk]) yield await thread.push(each);
        held = [];
      }
    }
    if (thread === undefined) {
      const packer = new TrajectoryPacker();
      const lines = held.map((chunk) => packer.push(chunk));
      await header(packer.finish());
      yield* lines;
    } else await header(await thread.finish());
  } finally {
    await thread?.close();
  }
}

class PackerThread {
  readonly #worker: Worker;

  constructor() {
    const resourceLimits = { maxOldGenerationSizeMb: threadHeapMb };
    this.#worker = startThread(new URL("packer-thread.ts", import.meta.url), { resourceLimits });
  }

  async push(chunk: Uint8Array): Promise<Uint8Array> {
    const response = await this.#ask({ chunk });
    if ("lines" in response) return response.lines;
    throw new TypeError("the thread returned no lines");
  }

  async finish(): Promise<RlRequestHeader> {
    const response = await this.#ask({ chunk: null });
    if ("header" in response) return response.header;
    throw new TypeError("the thread returned no header");
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #ask(request: PackerRequest): Promise<PackerResponse> {
    this.#worker.postMessage(request);
    const ended = new AbortController();
    const exited = once(this.#worker, "exit", ended).then(() => Promise.reject(new Error("the thread ended")));
    try {
      // An `error` of the worker rejects `once`.
      const [response] = (await Promise.race([once(this.#worker, "message", ended), exited])) as [PackerResponse];
      if ("error" in response) throw fromWireError(response.error);
      if ("problem" in response) throw problemOf(response.problem);
      return response;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
        throw new Problem(413, "Request too large: one trajectory needs too much memory");
      }
      throw error;
    } finally {
      exited.catch(() => undefined);
      ended.abort();
    }
  }
}

function problemOf({ status, message, details }: Extract<PackerResponse, { problem: object }>["problem"]): Problem {
  return details === undefined ? new Problem(status, message) : Problem.invalid(details);
}
