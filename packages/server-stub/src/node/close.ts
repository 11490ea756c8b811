import type { Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

/** Requests that are on their way when the listening ends come within so long. */
const lateRequestMs = 200;

/** Stops listening, lets `running` responses finish for `grace` milliseconds, then cuts them. */
export async function closeInOrder(http: Server, running: ReadonlySet<ServerResponse>, grace: number): Promise<void> {
  await acceptWaiting(http);
  // `http.close` would also cut the connections on which the next request is on its way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(http, () => resolve()));
  await Promise.race([closed, delay(Math.min(lateRequestMs, grace))]);
  http.close();
  // A kept-alive connection would wait for a next request that gets no response.
  for (const outgoing of running) {
    const { socket } = outgoing;
    outgoing.once("finish", () => socket?.end());
  }
  const cut = setTimeout(() => http.closeAllConnections(), grace);
  await closed;
  clearTimeout(cut);
}

/**
 * Resolves after an iteration of the event loop without a new connection. When listening ends, the system resets the
 * connections that it has established and the process has not accepted.
 */
async function acceptWaiting(http: Server): Promise<void> {
  let came = true;
  const count = () => (came = true);
  http.on("connection", count);
  for (let iteration = 0; came && iteration < 1000; iteration++) {
    came = false;
    await nextTurn();
  }
  http.off("connection", count);
}
