import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { Database } from "./database.js";
import { integerOf, textOf } from "./database.js";
import { keepLease } from "./lease-renewal.js";
import type { Lease } from "./lease-renewal.js";

interface LeaseOptions {
  /** Who we are, for people: it is named to whoever is refused. */
  holder: string;
  /** A lease that was not renewed for so long may be taken over; its holder stops relying on it after half of it. */
  durationMs?: number;
  /** Called when a lease that could not be renewed in time is ours again, before `held` says so. */
  onLapse?: () => void;
  /** Called when a lease has to be watched first, which takes up to `durationMs`, with its holder. */
  onWait?: (holder: string) => void;
  /** Called when the lease cannot be renewed, once until it is. */
  onFailure?: (error: Error) => void;
}

export interface Leases {
  /**
   * Takes a lease that nobody has or renews. Throws `conflict`, with the holder in the message, once that one has been
   * seen alive; a holder that gives no sign of life for `durationMs` has lost it.
   *
   * No clocks are compared: the holder counts upwards, the others watch the count on their own monotonic clocks.
   */
  acquire(name: string, options: LeaseOptions): Promise<Lease>;
}

const usualDurationMs = 12_000;

export function openLeases(database: Database): Leases {
  return {
    async acquire(name, { holder, durationMs = usualDurationMs, onWait, ...events }) {
      const token = randomUUID();
      // From before the statement: the others count from when they see its result.
      let asked = performance.now();
      const keep = () => keepLease(database, { name, token, asked, durationMs, ...events });
      let seen: Sighting | undefined;
      for (;;) {
        asked = performance.now();
        const taken = await database.rows(
          `INSERT INTO leases (name, holder, token, beat) VALUES ($1, $2, $3, 0)
            ON CONFLICT (name) DO NOTHING RETURNING token`,
          [name, holder, token],
        );
        if (taken.length > 0) return keep();
        const now = await sightingOf(database, name);
        if (now === undefined) continue; // Given up in between.
        if (seen === undefined) {
          seen = now;
          onWait?.(now.holder);
        } else if (now.token !== seen.token || now.beat !== seen.beat) {
          throw new HeddleError("conflict", `the ${name} is in use by ${now.holder}`);
        } else if (performance.now() - seen.at >= durationMs) {
          asked = performance.now();
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
