import type { CommitQueue } from "./group-commits.js";
import { compactHidden } from "./compact.js";
import type { WriteRequest } from "./commit-parts.js";
import { repair } from "./repair.js";
import type { IngestContext } from "./write-calls.js";

const MINUTE_MS = 60_000;
/** Compaction costs about a second per million calls; hidden rows cost every read of their project. */
const COMPACT_ROWS = 500;
const COMPACT_AGE_SECONDS = 300;
/** Closed halves slow down the reading of running calls until they are cleaned away. */
const CLEAN_UP_HALVES = 20_000;

export interface Maintenance {
  /** Does now what is done once a minute; `force` leaves nothing for later. */
  run(force?: boolean): Promise<void>;
  stop(): void;
}

/** What happens between commits: mending, compaction, clean-up. A failure is left to the next time. */
export function scheduleMaintenance(
  context: IngestContext,
  queue: CommitQueue<WriteRequest>,
  ready: () => Promise<void>,
): Maintenance {
  const { clock, state } = context;
  let mendedUpTo = clock.last();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function run(force = false): Promise<void> {
    await queue.alone(async () => {
      await ready();
      const since = mendedUpTo;
      const upTo = clock.last();
      if (upTo > since) await repair(context, since);
      mendedUpTo = upTo;
    });
    await queue.alone(async () => {
      await ready();
      if (force || (await compactionDue(context))) await compactHidden(context);
    });
    await queue.alone(async () => {
      if (force || state.closedHalves >= CLEAN_UP_HALVES) await cleanUpHalves(context);
    });
  }

  function schedule(delay: number): void {
    if (stopped) return;
    timer = setTimeout(() => {
      const start = performance.now();
      const again = () => {
        // Never more than a fiftieth of the time, however large the store has become.
        schedule(Math.max(MINUTE_MS, 50 * (performance.now() - start)));
      };
      run().then(again, again);
    }, delay);
    timer.unref();
  }

  schedule(MINUTE_MS);
  return {
    run,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Merges `call_parts` and drops closed halves; an ordinary merge keeps them. */
export async function cleanUpHalves({ engine, state }: IngestContext): Promise<void> {
  await engine.command({ sql: "OPTIMIZE TABLE call_parts FINAL CLEANUP" });
  state.closedHalves = 0;
}

async function compactionDue({ engine, state }: IngestContext): Promise<boolean> {
  if (state.projectsWithHidden.size === 0) return false;
  const [pending] = await engine.rows<{ rows: string; age: string }>({
    sql: "SELECT count() AS rows, dateDiff('second', min(hidden_at), now64(3)) AS age FROM call_hidden FINAL WHERE compacted_at IS NULL",
  });
  const rows = Number(pending?.rows ?? 0);
  return rows === 0 || rows >= COMPACT_ROWS || Number(pending?.age) >= COMPACT_AGE_SECONDS;
}
