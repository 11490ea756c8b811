import type { ServerResponse } from "node:http";
import type { Sink } from "./http.js";

/** Writes to a `node:http` response and waits for `drain` when it is full; leaves no listener on it. */
export class NodeSink implements Sink {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  get closed(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.closed;
  }

  write(chunk: string | Uint8Array): Promise<void> | undefined {
    return this.#outgoing.write(chunk) || this.#outgoing.destroyed ? undefined : drained(this.#outgoing);
  }

  onClose(callback: () => void): void {
    if (this.closed) callback();
    else this.#outgoing.once("close", () => this.#outgoing.writableFinished || callback());
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}
