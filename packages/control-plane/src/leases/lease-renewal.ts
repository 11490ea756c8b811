import type { Database } from "../database/database.js";
import { textOf } from "../database/database.js";
import { momentAt, msSince } from "../moment.js";

/** A lease that this process holds, renewed in the background until it is released or lost. */
export interface Lease {
  /** Whether it was renewed so recently that no other process can take it over within the next half of its duration. */
  held(): boolean;
  /** Milliseconds since it was last renewed. */
  ageMs(): number;
  /**
   * Resolves with the new holder once another process has it ("nobody" when its row is missing). A lost lease is never
   * held again.
   */
  lost: Promise<string>;
  /**
   * Releases it, so that another process can take it without waiting. It never throws: a lease that cannot be released
   * expires.
   */
  release(): Promise<void>;
}

interface Renewal {
  name: string;
  token: string;
  /** Monotonic time at which the statement that acquired it was sent. */
  sentAt: number;
  durationMs: number;
  onLapse?: () => void;
  onFailure?: (error: Error) => void;
}

export function keepLease(database: Database, { name, token, sentAt, durationMs, ...events }: Renewal): Lease {
  let state: "held" | "lost" | "released" = "held";
  let confirmed = momentAt(sentAt);
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let renewing: Promise<void> = Promise.resolve();
  let reportLoss: (holder: string) => void;
  const lost = new Promise<string>((resolve) => {
    reportLoss = resolve;
  });

  const fresh = () => msSince(confirmed) < durationMs / 2;

  async function renew(): Promise<void> {
    const sent = momentAt();
    const renewed = await database.rows(
      "UPDATE leases SET beat = beat + 1 WHERE name = $1 AND token = $2 RETURNING beat",
      [name, token],
    );
    if (renewed.length > 0) {
      if (!fresh()) events.onLapse?.();
      confirmed = sent;
      failing = false;
      return;
    }
    state = "lost";
    const [row] = await database.rows("SELECT holder FROM leases WHERE name = $1", [name]);
    reportLoss(row === undefined ? "nobody" : textOf(row, "holder"));
  }

  function schedule(): void {
    timer = setTimeout(() => {
      renewing = renew()
        .catch((error: unknown) => {
          // Retried soon; until then the lease ages.
          if (!failing && error instanceof Error) events.onFailure?.(error);
          failing = true;
        })
        .finally(() => {
          if (state === "held") schedule();
        });
    }, durationMs / 6);
    timer.unref();
  }
  schedule();

  return {
    held: () => state === "held" && fresh(),
    ageMs: () => msSince(confirmed),
    lost,
    async release() {
      if (state === "held") state = "released";
      clearTimeout(timer);
      await renewing;
      await database.run("DELETE FROM leases WHERE name = $1 AND token = $2", [name, token]).catch(() => undefined);
    },
  };
}
