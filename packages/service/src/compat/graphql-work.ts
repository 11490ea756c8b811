import { setImmediate } from "node:timers/promises";
import type { ReserveRows } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { RequestScope } from "../limits/request-scope.js";

/** What a request may cost, about a second of the main thread: each unit is about a microsecond. */
const maxCost = 1_000_000;
const costs = { field: 1, row: 2, statement: 50, signature: 10, mutation: 50_000 } as const;

/** For how long the work of a request keeps others waiting, in milliseconds. */
const sliceMs = 4;
/** Smaller amounts are not reserved one by one. */
const grain = 65_536;

/**
 * What one GraphQL request uses. Fields charge what they cost before they cost it, and reserve what they read; the request
 * ends where it costs too much, has no memory, or its client has left.
 */
export class GraphqlWork {
  readonly #scope: RequestScope | undefined;
  readonly #signal: AbortSignal;
  #cost = 0;
  #sliceBegan = performance.now();
  #unreserved = 0;

  constructor(scope: RequestScope | undefined, signal: AbortSignal) {
    this.#scope = scope;
    this.#signal = signal;
  }

  /** Throws `too_large` when the request costs more than one may. */
  charge(what: keyof typeof costs, times = 1): void {
    this.#cost += costs[what] * times;
    if (this.#cost <= maxCost) return;
    throw new HeddleError(
      "too_large",
      "the request costs too much: select fewer fields, files or versions, or send several requests",
    );
  }

  /** Lets other requests run when this one has worked for long. Throws when its client has left. */
  async pause(): Promise<void> {
    if (performance.now() - this.#sliceBegan < sliceMs) return;
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#sliceBegan = performance.now();
  }

  /** Charges rows, and reserves their bytes until the response is sent. */
  readonly reserve: ReserveRows = async (bytes, rows) => {
    this.charge("statement");
    this.charge("row", rows);
    await this.#scope?.hold(bytes);
    await this.pause();
  };

  /** Reserves what becomes part of the response. */
  async respond(bytes: number): Promise<void> {
    this.#unreserved += bytes;
    if (this.#unreserved < grain) return;
    const reserved = this.#unreserved;
    this.#unreserved = 0;
    await this.#scope?.holdForResponse(reserved);
  }
}
