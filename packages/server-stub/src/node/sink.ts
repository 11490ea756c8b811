import type { ServerResponse } from "node:http";
import type { Sink } from "../http.js";
import { cutOnStall } from "./stall-deadline.js";

/**
 * Writes to a `node:http` response and waits for `drain` when it is full; leaves no listener on it. A client that takes
 * nothing for `stallMs` is disconnected.
 */
export class NodeSink implements Sink {
  readonly #outgoing: ServerResponse;
  readonly #stallMs: number;

  constructor(outgoing: ServerResponse, stallMs: number) {
    this.#outgoing = outgoing;
    this.#stallMs = stallMs;
  }

  get closed(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.closed;
  }

  write(chunk: string | Uint8Array): Promise<void> | undefined {
    if (this.#outgoing.write(chunk) || this.#outgoing.destroyed) return undefined;
    return drained(this.#outgoing, this.#stallMs);
  }

  onClose(callback: () => void): void {
    if (this.closed) callback();
    else this.#outgoing.once("close", () => this.#outgoing.writableFinished || callback());
  }
}

function drained(outgoing: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const inTime = cutOnStall(outgoing, stallMs);
    const done = () => {
      inTime();
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}
