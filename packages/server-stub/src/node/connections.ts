import type { Server } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextIteration } from "node:timers/promises";

/**
 * A connection that has waited so long for a request may be closed for another. The request of one that came lately may
 * be on its way, or wait to be read.
 */
const graceMs = 1000;
/** Connections beyond the limit that may stay until their requests are refused, per connection within it. */
const furtherPerAdmitted = 2;

/** Connections, with the time since when they are in this state, the longest first. */
type Since = Map<Socket, number>;

/**
 * Keeps the number of connections below a limit. When it is reached, one without a request in progress is closed for a
 * new one: rather one that never had a request than one that waits for the next. Where none has waited for long, further
 * ones may stay until their requests are refused with a response.
 */
export class Connections {
  readonly #max: number;
  readonly #makeRoom: () => void;
  readonly #requests = new WeakMap<Socket, number>();
  readonly #admitted = new Set<Socket>();
  /** Of those admitted: with a response, and a request whose rest is thrown away. */
  readonly #draining: Since = new Map();
  /** Of those admitted: without a request so far. */
  readonly #unused: Since = new Map();
  /** Of those admitted: between requests. */
  readonly #idle: Since = new Map();
  /** Beyond the limit. */
  readonly #further: Since = new Map();

  /** `makeRoom` is called when one more comes while all others have requests in progress. */
  constructor(http: Server, max: number, makeRoom: () => void) {
    this.#max = max;
    this.#makeRoom = makeRoom;
    http.on("connection", (socket) => this.#add(socket));
  }

  /** A request begins. Returns false when it is to be refused. */
  begin(socket: Socket): boolean {
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
    if (!this.#admitted.has(socket) && !this.#admit(socket)) return false;
    for (const sockets of [this.#draining, this.#unused, this.#idle, this.#further]) sockets.delete(socket);
    return true;
  }

  /** A response is written, and only the rest of its request is missing: the connection may be closed. */
  responded(socket: Socket): void {
    if (this.#admitted.has(socket)) this.#draining.set(socket, -Infinity);
  }

  /** A request is complete, with its response. */
  end(socket: Socket): void {
    const requests = (this.#requests.get(socket) ?? 1) - 1;
    this.#requests.set(socket, requests);
    if (requests > 0 || !this.#admitted.has(socket)) return;
    this.#draining.delete(socket);
    this.#idle.set(socket, performance.now());
  }

  #add(socket: Socket): void {
    socket.once("close", () => this.#forget(socket));
    if (this.#admit(socket)) {
      this.#unused.set(socket, performance.now());
      return;
    }
    if (this.#further.size >= this.#max * furtherPerAdmitted) this.#closeLongest(this.#further, 0);
    this.#further.set(socket, performance.now());
  }

  #admit(socket: Socket): boolean {
    if (this.#admitted.size >= this.#max) {
      const closable = [this.#draining, this.#unused, this.#idle];
      if (closable.every(({ size }) => size === 0)) this.#makeRoom();
      if (!closable.some((since) => this.#closeLongest(since, graceMs))) return false;
    }
    this.#admitted.add(socket);
    return true;
  }

  /** Closes the first of these connections if it has waited for `ms`. */
  #closeLongest(since: Since, ms: number): boolean {
    const [longest] = since;
    if (longest === undefined || performance.now() - longest[1] < ms) return false;
    this.#forget(longest[0]);
    void this.#close(longest[0]);
    return true;
  }

  /** A request that has come and was not read yet begins within an iteration of the event loop, and is then responded to. */
  async #close(socket: Socket): Promise<void> {
    if (this.#isUnused(socket)) {
      await nextIteration();
      await nextIteration();
      if (!this.#isUnused(socket)) return;
    }
    socket.destroy();
  }

  #isUnused(socket: Socket): boolean {
    return (this.#requests.get(socket) ?? 0) === 0;
  }

  #forget(socket: Socket): void {
    this.#admitted.delete(socket);
    for (const sockets of [this.#draining, this.#unused, this.#idle, this.#further]) sockets.delete(socket);
  }
}
