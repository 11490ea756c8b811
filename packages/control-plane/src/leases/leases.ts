import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { Database, Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { keepLease } from "./lease-renewal.js";
import type { Lease } from "./lease-renewal.js";

interface LeaseOptions {
  /** This process, in words for people: other processes that want the lease get it in their error. */
  holder: string;
  /** Where other processes reach this one. */
  address?: string;
  /** A lease that was not renewed for this time may be taken over; its holder stops relying on it after half of it. */
  durationMs?: number;
  /** Called when a lease that could not be renewed in time is held again, before `held` returns true. */
  onLapse?: () => void;
  /**
   * Called with the holder when a lease has to be watched before it can be acquired, which takes up to `durationMs`.
   */
  onWait?: (holder: string) => void;
  /** Called when the lease cannot be renewed, once until it is. */
  onFailure?: (error: Error) => void;
}

/** Who has a lease. */
export interface LeaseHolder {
  holder: string;
  /** Where other processes reach it; undefined where it did not say. */
  address: string | undefined;
}

interface FollowOptions extends Omit<LeaseOptions, "onWait"> {
  /** Called with each other process that is seen to have the lease. */
  onHolder: (holder: LeaseHolder) => void;
  /** Asked before each attempt; while it is false, the lease is watched and not acquired. Default: always. */
  wants?: () => boolean;
  /** Ends the wait. */
  signal?: AbortSignal;
}

export interface Leases {
  /**
   * Acquires a lease that no process holds or renews. Throws `conflict`, with the holder in the message, once the
   * holder has renewed it; a holder that does not renew it for `durationMs` loses it.
   *
   * No clocks are compared: the holder counts upwards, the others watch the count on their own monotonic clocks.
   */
  acquire(name: string, options: LeaseOptions): Promise<Lease>;
  /**
   * The same for a process that waits for its turn as long as another one renews the lease; undefined when `signal` has
   * ended the wait. A control plane that does not respond is asked again.
   */
  follow(name: string, options: FollowOptions): Promise<Lease | undefined>;
  /** Leases whose name begins so, held or left by a process that has ended. */
  list(prefix: string): Promise<ListedLease[]>;
  /** Removes one that was left: that has neither changed its holder nor been renewed since it was listed. */
  forget(lease: ListedLease): Promise<void>;
}

export interface ListedLease extends LeaseHolder {
  name: string;
  /** Of this holder of the lease. */
  token: string;
  /** Counts up while the holder lives. */
  beat: bigint;
}

const defaultDurationMs = 12_000;
/** Between two looks at a lease: also of long ones, what is released is taken at once. */
const mostPauseMs = 100;

export function openLeases(database: Database): Leases {
  return {
    async acquire(name, { onWait, ...options }) {
      const candidate = new Candidate(database, name, options);
      for (;;) {
        const lease = await candidate.attempt();
        if (lease !== undefined) return lease;
        const { seen, isRenewed } = candidate;
        if (isRenewed) throw new HeddleError("conflict", `the ${name} is in use by ${seen?.holder}`);
        if (candidate.isNew && seen !== undefined) onWait?.(seen.holder);
        await pause(candidate.pauseMs);
      }
    },

    async follow(name, { onHolder, signal, wants = () => true, ...options }) {
      const candidate = new Candidate(database, name, options);
      for (;;) {
        if (signal?.aborted === true) return undefined;
        try {
          const lease = await candidate.attempt(wants());
          if (lease !== undefined) return lease;
          const { seen, isNew } = candidate;
          if (isNew && seen !== undefined) onHolder({ holder: seen.holder, address: seen.address });
        } catch (error) {
          if (!(error instanceof HeddleError)) throw error;
        }
        await pause(candidate.pauseMs, undefined, { signal }).catch(() => undefined);
      }
    },

    async list(prefix) {
      const rows = await database.rows("SELECT name, holder, token, beat, address FROM leases ORDER BY name");
      return rows.map(listedOf).filter(({ name }) => name.startsWith(prefix));
    },

    async forget({ name, token, beat }) {
      await database.run("DELETE FROM leases WHERE name = $1 AND token = $2 AND beat = $3", [name, token, beat]);
    },
  };
}

/** A process that wants a lease. */
class Candidate {
  /** Who was seen to have it at the last attempt. */
  seen: Sighting | undefined;
  /** Whether that is another holder than at the attempt before. */
  isNew = false;
  /** Whether the same holder has renewed it since. */
  isRenewed = false;
  readonly pauseMs: number;
  readonly #database: Database;
  readonly #name: string;
  readonly #options: Omit<LeaseOptions, "onWait" | "durationMs"> & { durationMs: number };
  readonly #token = randomUUID();
  /** Monotonic, of the last sighting. */
  #looked = -Infinity;

  constructor(
    database: Database,
    name: string,
    { durationMs = defaultDurationMs, ...options }: Omit<LeaseOptions, "onWait">,
  ) {
    this.#database = database;
    this.#name = name;
    this.#options = { ...options, durationMs };
    this.pauseMs = Math.min(mostPauseMs, durationMs / 50);
  }

  /**
   * The lease, where no process holds it, or the one that was seen has not renewed it for its duration. Without `wanted` it
   * is looked at only.
   */
  async attempt(wanted = true): Promise<Lease | undefined> {
    const { holder, address = null } = this.#options;
    // Most looks find that somebody has it, and change nothing.
    const now = await sightingOf(this.#database, this.#name);
    if (now === undefined) {
      [this.isNew, this.isRenewed] = [false, false];
      if (!wanted) return undefined;
      // From before the statement: the others count from when they see its result.
      const sentAt = performance.now();
      const taken = await this.#database.rows(
        `INSERT INTO leases (name, holder, token, beat, address) VALUES ($1, $2, $3, 0, $4)
          ON CONFLICT (name) DO NOTHING RETURNING token`,
        [this.#name, holder, this.#token, address],
      );
      return taken.length > 0 ? this.#keep(sentAt) : undefined;
    }
    const { seen } = this;
    // Who has not looked for long, as while the control plane did not respond, cannot tell whether the holder has ended.
    if (seen !== undefined && now.at - this.#looked > this.#options.durationMs / 2) seen.at = now.at;
    this.#looked = now.at;
    this.isNew = seen?.token !== now.token;
    this.isRenewed = seen !== undefined && (this.isNew || now.beat !== seen.beat);
    if (seen === undefined || this.isRenewed) {
      this.seen = now;
      return undefined;
    }
    if (!wanted || performance.now() - seen.at < this.#options.durationMs) return undefined;
    const sentAt = performance.now();
    const inherited = await this.#database.rows(
      `UPDATE leases SET holder = $2, token = $3, beat = 0, address = $6 WHERE name = $1 AND token = $4 AND beat = $5
        RETURNING token`,
      [this.#name, holder, this.#token, seen.token, seen.beat, address],
    );
    return inherited.length > 0 ? this.#keep(sentAt) : undefined;
  }

  #keep(sentAt: number): Lease {
    const { durationMs, onLapse, onFailure } = this.#options;
    return keepLease(this.#database, {
      name: this.#name,
      token: this.#token,
      sentAt,
      durationMs,
      ...(onLapse && { onLapse }),
      ...(onFailure && { onFailure }),
    });
  }
}

const listedOf = (row: Row): ListedLease => ({
  name: textOf(row, "name"),
  holder: textOf(row, "holder"),
  address: row["address"] === null ? undefined : textOf(row, "address"),
  token: textOf(row, "token"),
  beat: integerOf(row, "beat"),
});

interface Sighting extends ListedLease {
  /** Monotonic; not before the beat was stored. */
  at: number;
}

async function sightingOf(database: Database, name: string): Promise<Sighting | undefined> {
  const [row] = await database.rows("SELECT name, holder, token, beat, address FROM leases WHERE name = $1", [name]);
  return row && { ...listedOf(row), at: performance.now() };
}
