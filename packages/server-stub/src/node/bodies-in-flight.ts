import { BodyStalled, Overloaded } from "../http.js";

export interface BodyLimits {
  /** Bytes of all request bodies that arrive or are worked on. Default 134,217,728. Smaller bodies than 64 KiB do not count. */
  maxBodyBytesInFlight?: number;
  /** Milliseconds that a body may arrive without a new byte; it is then refused with 408. Default 20,000. */
  bodyStallMs?: number;
}

const defaultBytes = 128 * 1024 * 1024;
const defaultStallMs = 20_000;
/** For a body that is held in memory, however steadily it arrives. One that is read as it arrives may take longer. */
const mostMs = 300_000;
/** Bodies of this size do not count, so that clients who send little are not refused for those who send much. */
const smallBytes = 65_536;

/** One body, from its first byte until the response is known. */
export interface Body {
  bytes: number;
  /** When it began, and when its last byte came; `performance.now()`. */
  openedAt: number;
  progressAt: number;
  /** Ends the wait for the rest of it. */
  refuse: (reason: Error) => void;
}

/**
 * The memory of request bodies. When it is used up, the body that has made no progress for longest is refused: whoever
 * begins uploads without completing them loses those, and bodies that keep arriving stay.
 */
export class BodiesInFlight {
  readonly #maxBytes: number;
  readonly #stallMs: number;
  #bytes = 0;
  /** Bodies that are not complete, by their progress. */
  readonly #arriving = new Set<Body>();
  #sweep: NodeJS.Timeout | undefined;

  constructor({ maxBodyBytesInFlight = defaultBytes, bodyStallMs = defaultStallMs }: BodyLimits = {}) {
    this.#maxBytes = maxBodyBytesInFlight;
    this.#stallMs = bodyStallMs;
  }

  open(refuse: (reason: Error) => void): Body {
    const now = performance.now();
    const body: Body = { bytes: 0, openedAt: now, progressAt: now, refuse };
    this.#arriving.add(body);
    this.#sweep ??= setInterval(() => this.#refuseStalled(), Math.min(1000, this.#stallMs)).unref();
    return body;
  }

  /** Counts bytes that have arrived. May refuse bodies, also this one. */
  arrived(body: Body, bytes: number): void {
    this.#arriving.delete(body);
    this.#arriving.add(body);
    body.progressAt = performance.now();
    this.#count(body, bytes);
    while (this.#bytes > this.#maxBytes && this.refuseOldest());
  }

  complete(body: Body): void {
    this.#arriving.delete(body);
  }

  /** Counts what a complete body has become by inflating or parsing it. Throws `Overloaded` when there is no memory for it. */
  inflated(body: Body, bytes: number): void {
    this.#count(body, bytes);
    while (this.#bytes > this.#maxBytes && this.refuseOldest());
    if (this.#bytes <= this.#maxBytes) return;
    this.release(body);
    throw this.#overloaded();
  }

  release(body: Body): void {
    this.#arriving.delete(body);
    this.#count(body, -body.bytes);
    if (this.#arriving.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** Refuses the body that has made no progress for longest; false when none is arriving. */
  refuseOldest(): boolean {
    const [oldest] = this.#arriving;
    if (oldest === undefined) return false;
    this.#refuse(oldest, this.#overloaded());
    return true;
  }

  #refuseStalled(): void {
    const now = performance.now();
    for (const body of this.#arriving) {
      if (now - body.progressAt >= this.#stallMs) this.#refuse(body, new BodyStalled(this.#stallMs));
      else if (now - body.openedAt >= mostMs) this.#refuse(body, new BodyStalled(mostMs, "not all of it"));
    }
  }

  #refuse(body: Body, reason: Error): void {
    this.release(body);
    body.refuse(reason);
  }

  #count(body: Body, bytes: number): void {
    const counted = (size: number): number => (size > smallBytes ? size : 0);
    this.#bytes += counted(body.bytes + bytes) - counted(body.bytes);
    body.bytes += bytes;
  }

  #overloaded(): Overloaded {
    return new Overloaded(`Too many request bodies at once: at most ${this.#maxBytes} bytes of them`);
  }
}
