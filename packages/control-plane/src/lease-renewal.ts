import type { Database } from "./database.js";
import { textOf } from "./database.js";

/** A lease that we have, renewed in the background until it is released or lost. */
export interface Lease {
  /** Whether it was renewed so lately that nobody can have taken it over, nor will in the next half of its duration. */
  held(): boolean;
  /** Resolves with the new holder once somebody else has it ("nobody" when its row is gone). It never comes back. */
  lost: Promise<string>;
  /** Gives it up, for the next to take without waiting. It never throws: what cannot be given up runs out. */
  release(): Promise<void>;
}

interface Renewal {
  name: string;
  token: string;
  /** When the statement that took it was sent, monotonic. */
  asked: number;
  durationMs: number;
  onLapse?: () => void;
  onFailure?: (error: Error) => void;
}

export function keepLease(database: Database, { name, token, asked, durationMs, ...events }: Renewal): Lease {
  let state: "ours" | "lost" | "released" = "ours";
  let confirmed = moment(asked);
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let renewing: Promise<void> = Promise.resolve();
  let reportLoss: (holder: string) => void;
  const lost = new Promise<string>((resolve) => {
    reportLoss = resolve;
  });

  const fresh = () => since(confirmed) < durationMs / 2;

  async function renew(): Promise<void> {
    const sent = moment();
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
          // Tried again soon; meanwhile the lease goes stale.
          if (!failing && error instanceof Error) events.onFailure?.(error);
          failing = true;
        })
        .finally(() => {
          if (state === "ours") schedule();
        });
    }, durationMs / 6);
    timer.unref();
  }
  schedule();

  return {
    held: () => state === "ours" && fresh(),
    lost,
    async release() {
      if (state === "ours") state = "released";
      clearTimeout(timer);
      await renewing;
      await database.run("DELETE FROM leases WHERE name = $1 AND token = $2", [name, token]).catch(() => undefined);
    },
  };
}

/** Both clocks: the monotonic one stands still while a machine sleeps, the other may be set. */
interface Moment {
  monotonic: number;
  wall: number;
}

function moment(monotonic = performance.now()): Moment {
  return { monotonic, wall: Date.now() - (performance.now() - monotonic) };
}

/** The longer of the two. */
function since({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
