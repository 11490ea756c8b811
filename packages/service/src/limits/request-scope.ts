import { AsyncLocalStorage } from "node:async_hooks";
import type { Caller } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { mainThread } from "@heddle/concurrency";
import type { FairShare, Release, Sharer } from "@heddle/concurrency";
import type { HttpRequest, Problem } from "@heddle/server-stub";
import type { RevocableRequest } from "./revocable-request.js";

/** Smaller amounts of memory are not reserved one by one. */
const reservedAtOnce = 262_144;

interface Reserved {
  amount: number;
  release: Release;
}

/** An operation of the spec, or a route next to them. */
export interface ServedRoute {
  id: string;
  /** With the names of its parameters. */
  path: string;
  /** Whether tokens of shares work for it. */
  isShared: boolean;
}

/** Why a request has no caller, and the id of its key where that is known. */
export interface RefusedKey {
  refused: "missing" | "unknown" | "revoked" | "expired";
  key_id?: string;
}

/** The request that the running code works for: what it asks for, who sent it, and the memory that it holds. */
export class RequestScope {
  /** Undefined for a path that nothing serves. */
  route: ServedRoute | undefined;
  /** Undefined where a key was accepted, or none was asked for. */
  refusedKey: RefusedKey | undefined;
  readonly #request: RevocableRequest;
  readonly #memory: FairShare;
  readonly #maxBytes: number;
  #sharer: Sharer | undefined;
  #caller: Caller | undefined;
  #held = 0;
  #responseBytes = 0;
  #reserved = 0;
  readonly #reservations: Reserved[] = [];
  #ended = false;

  constructor(request: RevocableRequest, memory: FairShare, maxBytes: number) {
    this.#request = request;
    this.#memory = memory;
    this.#maxBytes = maxBytes;
  }

  /** As in `x-request-id` of the response. */
  get id(): string | undefined {
    return this.#request.id;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  get request(): HttpRequest {
    return this.#request;
  }

  /** Whose key was accepted. */
  get caller(): Caller | undefined {
    return this.#caller;
  }

  /** The response is sent. */
  get isEnded(): boolean {
    return this.#ended;
  }

  get sharer(): Sharer | undefined {
    return this.#sharer;
  }

  /** A session, and a share, takes turns with others as a key does: several people may have sessions of one key. */
  identify(caller: Caller): void {
    const { key_id, entity, session, share } = caller;
    const own = session === undefined ? share && `share ${share.id}` : `session ${session.id}`;
    this.#caller = caller;
    this.actFor({ key: own ?? key_id, entity });
  }

  /** The request takes turns as one of `sharer` does: another replica has accepted its key. */
  actFor(sharer: Sharer | undefined): void {
    this.#sharer = sharer;
    if (sharer !== undefined) mainThread.arrived(sharer);
  }

  /** Ends the request: its key is not valid any more. */
  revoke(reason: Problem): void {
    this.#request.revoke(reason);
  }

  /** Aborts when the client disconnects before the response is complete, and when the request is revoked. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }

  /** Bytes that the request may hold at all. */
  get most(): number {
    return this.#memory.perKey;
  }

  /** Bytes that are held, for the response and else. */
  get heldBytes(): number {
    return this.#held;
  }

  /** Bytes that are held for the response. */
  get responseBytes(): number {
    return this.#responseBytes;
  }

  /**
   * Reserves memory for what becomes part of the response. Throws as {@link hold} does, and `too_large` when the
   * response would be longer than it may be.
   */
  async holdForResponse(bytes: number, loc?: Loc): Promise<void> {
    this.#responseBytes += bytes;
    if (this.#responseBytes > this.#maxBytes) throw responseTooLarge(this.#maxBytes, loc);
    await this.hold(bytes);
  }

  /**
   * Reserves memory until the release is called, else until the response is sent. Throws `rate_limited` or `busy` when
   * so much does not become free. One request gets at most the share of its key.
   */
  async hold(bytes: number): Promise<Release> {
    this.#held += bytes;
    const missing = this.#held - this.#reserved;
    if (missing > reservedAtOnce) {
      this.#reserved += missing;
      try {
        const release = await this.#memory.acquire(this.#sharer, missing, this.#request.signal);
        if (this.#ended) release();
        else this.#reservations.push({ amount: missing, release });
      } catch (error) {
        this.#reserved -= missing;
        this.#held -= bytes;
        throw error;
      }
    }
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#held -= bytes;
      this.#releaseUnused();
    };
  }

  /** Gives everything back. */
  end(): void {
    this.#ended = true;
    for (const { release } of this.#reservations.splice(0)) release();
  }

  #releaseUnused(): void {
    for (let last = this.#reservations.at(-1); last !== undefined; last = this.#reservations.at(-1)) {
      if (this.#reserved - last.amount < this.#held) return;
      this.#reservations.pop();
      this.#reserved -= last.amount;
      last.release();
    }
  }
}

export function responseTooLarge(maxBytes: number, loc?: Loc): HeddleError {
  const message = `Response too large: more than ${maxBytes} bytes (HEDDLE_MAX_RESPONSE); ask for less at once, or use the stream where there is one`;
  return new HeddleError("too_large", message, loc && { loc });
}

const storage = new AsyncLocalStorage<RequestScope>();
mainThread.findSharerBy(currentSharer);

/** Runs a function, and all that follows from it, for a request. */
export function runInScope<T>(scope: RequestScope, run: () => T): T {
  return storage.run(scope, run);
}

export function currentScope(): RequestScope | undefined {
  return storage.getStore();
}

/** Notes what the current request asks for. */
export function enterRoute(id: string, path: string, isShared = false): void {
  const scope = storage.getStore();
  if (scope !== undefined) scope.route = { id, path, isShared };
}

/** Who sent the request that the running code works for. */
export function currentSharer(): Sharer | undefined {
  return storage.getStore()?.sharer;
}

/** Reserves memory for the response of the current request; `loc` is the parameter that makes it need less. */
export function reserveForResponse(loc: Loc): (bytes: number) => Promise<Release> {
  const scope = storage.getStore();
  return async (bytes) => {
    await scope?.holdForResponse(bytes, loc);
    return nothing;
  };
}

/** Reserves memory for what the current request holds for a while. */
export function reserveForStream(): (bytes: number) => Promise<Release> {
  const scope = storage.getStore();
  return async (bytes) => (await scope?.hold(bytes)) ?? nothing;
}

function nothing(): void {}
