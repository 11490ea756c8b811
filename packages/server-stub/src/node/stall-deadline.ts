import type { ServerResponse } from "node:http";

/** How long a client may take none of a response; it is then disconnected. */
export const defaultStallMs = 30_000;

/**
 * Cuts the connection of a response unless the callback that this returns is called in time. A response that waits for
 * an earlier one on the same connection does not count yet.
 */
export function cutOnStall(outgoing: ServerResponse, stallMs: number): () => void {
  let inTime = false;
  let timer: NodeJS.Timeout;
  const wait = () => (timer = setTimeout(expire, stallMs).unref());
  // Timers come first after the process itself was busy: what the client has taken meanwhile is noticed only then.
  const expire = () => void setImmediate(check);
  const check = () => {
    if (inTime || outgoing.destroyed || outgoing.writableFinished) return;
    if (outgoing.socket === null) wait();
    else outgoing.destroy();
  };
  wait();
  return () => {
    inTime = true;
    clearTimeout(timer);
  };
}
