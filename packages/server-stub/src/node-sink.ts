import type { ServerResponse } from "node:http";
import type { Sink } from "./http.js";

/** Writes to a `node:http` response and waits for `drain` when it is full; leaves no listener behind. */
export function createSink(outgoing: ServerResponse): Sink {
  return {
    get closed() {
      return outgoing.destroyed || outgoing.closed;
    },
    write: (chunk) => (outgoing.write(chunk) || outgoing.destroyed ? undefined : drained(outgoing)),
    onClose: (callback) => {
      if (outgoing.destroyed || outgoing.closed) callback();
      else outgoing.once("close", () => outgoing.writableFinished || callback());
    },
  };
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
