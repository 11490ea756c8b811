import { mainThread } from "@heddle/concurrency";
import type { ReserveRows } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { responseTooLarge } from "../../limits/request-scope.js";
import type { RequestScope } from "../../limits/request-scope.js";
import type { Appended } from "./json-pieces.js";

/** What a request may cost, about a second of the main thread: each unit is about a microsecond. */
const maxCost = 1_000_000;
const costs = { field: 4, row: 2, statement: 50, signature: 20, mutation: 50_000 } as const;

/** For how long the work of a request keeps others waiting, in milliseconds. */
const sliceMs = 4;
/** Smaller amounts are not reserved one by one. */
const reservedAtOnce = 65_536;

export interface GraphqlLimits {
  /** Of a response, and of what one request holds in memory. */
  maxResponseBytes: number;
}

/**
 * What one GraphQL request uses. Fields charge what they cost before they cost it, and reserve what they read; the request
 * ends where it costs too much, has no memory, or its client has left.
 */
export class GraphqlWork {
  readonly #scope: RequestScope | undefined;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal;
  #cost = 0;
  #sliceBegan = performance.now();
  #responseBytes = 0;
  #unreserved = 0;

  constructor(scope: RequestScope | undefined, { maxResponseBytes }: GraphqlLimits, signal: AbortSignal) {
    this.#scope = scope;
    this.#maxBytes = maxResponseBytes;
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

  /** Whether others have waited for long. */
  get isDue(): boolean {
    return performance.now() - this.#sliceBegan >= sliceMs;
  }

  /** Lets other requests run where that is due. Throws when its client has left. */
  async pause(): Promise<void> {
    if (!this.isDue) return;
    await mainThread.giveWay();
    this.#signal.throwIfAborted();
    this.#sliceBegan = performance.now();
  }

  /** Charges rows, and reserves their bytes until the response is sent. */
  readonly reserve: ReserveRows = async (bytes, rows) => {
    this.charge("statement");
    this.charge("row", rows);
    await this.#hold(bytes);
    await this.pause();
  };

  /** Counts what becomes part of the response. A promise means: wait for the memory of it. */
  respond({ length, copied }: Appended): Promise<void> | undefined {
    this.#responseBytes += length;
    if (this.#responseBytes > this.#maxBytes) throw responseTooLarge(this.#maxBytes);
    this.#unreserved += copied;
    if (this.#unreserved < reservedAtOnce) return undefined;
    const reserved = this.#unreserved;
    this.#unreserved = 0;
    return this.#hold(reserved);
  }

  /** A request that would wait for what it holds itself is refused at once. */
  async #hold(bytes: number): Promise<void> {
    if (this.#scope === undefined) return;
    if (this.#scope.heldBytes + bytes > this.#maxBytes) throw responseTooLarge(this.#maxBytes);
    await this.#scope.hold(bytes);
  }
}
