import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { Database } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { keepLease } from "./lease-renewal.js";
import type { Lease } from "./lease-renewal.js";

interface LeaseOptions {
  /** This process, in words for people: other processes that want the lease get it in their error. */
  holder: string;
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

export interface Leases {
  /**
   * Acquires a lease that no process holds or renews. Throws `conflict`, with the holder in the message, once the
   * holder has renewed it; a holder that does not renew it for `durationMs` loses it.
   *
   * No clocks are compared: the holder counts upwards, the others watch the count on their own monotonic clocks.
   */
  acquire(name: string, options: LeaseOptions): Promise<Lease>;
}

const defaultDurationMs = 12_000;

export function openLeases(database: Database): Leases {
  return {
    async acquire(name, { holder, durationMs = defaultDurationMs, onWait, ...events }) {
      const token = randomUUID();
      // From before the statement: the others count from when they see its result.
      let sentAt = performance.now();
      const keep = () => keepLease(database, { name, token, sentAt, durationMs, ...events });
      let seen: Sighting | undefined;
      for (;;) {
        sentAt = performance.now();
        const taken = await database.rows(
          `INSERT INTO leases (name, holder, token, beat) VALUES ($1, $2, $3, 0)
            ON CONFLICT (name) DO NOTHING RETURNING token`,
          [name, holder, token],
        );
        if (taken.length > 0) return keep();
        const now = await sightingOf(database, name);
        if (now === undefined) continue; // Released in between.
        if (seen === undefined) {
          seen = now;
          onWait?.(now.holder);
        } else if (now.token !== seen.token || now.beat !== seen.beat) {
          throw new HeddleError("conflict", `the ${name} is in use by ${now.holder}`);
        } else if (performance.now() - seen.at >= durationMs) {
          sentAt = performance.now();
          const inherited = await database.rows(
            `UPDATE leases SET holder = $2, token = $3, beat = 0 WHERE name = $1 AND token = $4 AND beat = $5
              RETURNING token`,
            [name, holder, token, seen.token, seen.beat],
          );
          if (inherited.length > 0) return keep();
        }
        await pause(durationMs / 50);
      }
    },
  };
}

interface Sighting {
  holder: string;
  token: string;
  beat: bigint;
  /** Monotonic; not before the beat was stored. */
  at: number;
}

async function sightingOf(database: Database, name: string): Promise<Sighting | undefined> {
  const [row] = await database.rows("SELECT holder, token, beat FROM leases WHERE name = $1", [name]);
  return (
    row && {
      holder: textOf(row, "holder"),
      token: textOf(row, "token"),
      beat: integerOf(row, "beat"),
      at: performance.now(),
    }
  );
}
