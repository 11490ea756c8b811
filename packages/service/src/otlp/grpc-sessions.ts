import { constants } from "node:http2";
import type { Http2Server, Http2Session } from "node:http2";

export interface SessionLimits {
  maxSessions: number;
  /** Milliseconds in which the first call must come. */
  firstCallMs: number;
}

/** A connection without calls for so long is closed; clients open another when they need it. */
const idleMs = 300_000;
/** One that has waited so long may be closed for another. */
const graceMs = 1000;

interface SessionState {
  calls: number;
  wasUsed: boolean;
  /** Since when there is no call; `performance.now()`. */
  since: number;
}

/**
 * Keeps the number of HTTP/2 connections below a limit. When it is reached, the one that has been without calls for
 * longest is closed for a new one, rather one that never had any; where each has calls, the new one is refused.
 */
export class GrpcSessions {
  readonly #limits: SessionLimits;
  readonly #makeRoom: () => void;
  readonly #sessions = new Map<Http2Session, SessionState>();
  readonly #sweep: NodeJS.Timeout;

  /** `makeRoom` is called when one is refused. */
  constructor(server: Http2Server, limits: SessionLimits, makeRoom: () => void) {
    this.#limits = limits;
    this.#makeRoom = makeRoom;
    this.#sweep = setInterval(() => this.#closeUnused(), Math.min(1000, limits.firstCallMs)).unref();
    server.on("session", (session) => this.#add(session));
  }

  /** A call begins; the function that this returns ends it. */
  begin(session: Http2Session): () => void {
    const state = this.#sessions.get(session);
    if (state === undefined) return () => undefined;
    state.calls += 1;
    state.wasUsed = true;
    return () => {
      state.calls -= 1;
      state.since = performance.now();
    };
  }

  /** Takes no more calls; cuts those that run after `grace` milliseconds. */
  close(grace: number): void {
    clearInterval(this.#sweep);
    for (const session of this.#sessions.keys()) session.close();
    const cut = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy();
    }, grace);
    cut.unref();
  }

  #add(session: Http2Session): void {
    // Of a client that breaks the protocol or disconnects: the session is closed with it.
    session.on("error", () => undefined);
    if (this.#sessions.size >= this.#limits.maxSessions && !this.#closeLongest()) {
      this.#makeRoom();
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return;
    }
    this.#sessions.set(session, { calls: 0, wasUsed: false, since: performance.now() });
    session.once("close", () => this.#sessions.delete(session));
  }

  #closeLongest(): boolean {
    const waiting = [...this.#sessions].filter(
      ([, { calls, since }]) => calls === 0 && performance.now() - since >= graceMs,
    );
    const [first] = waiting.toSorted(([, a], [, b]) => Number(a.wasUsed) - Number(b.wasUsed) || a.since - b.since);
    if (first === undefined) return false;
    this.#sessions.delete(first[0]);
    first[0].destroy();
    return true;
  }

  #closeUnused(): void {
    const now = performance.now();
    for (const [session, { calls, wasUsed, since }] of this.#sessions) {
      if (calls > 0) continue;
      if (!wasUsed && now - since >= this.#limits.firstCallMs) session.destroy();
      else if (now - since >= idleMs) session.close();
    }
  }
}
