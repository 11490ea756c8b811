import { stopQuery } from "./cancel.js";
import type { EmbeddedEngine } from "./engine.js";
import type { SessionThread } from "./session-thread.js";

/** Reserves a thread for some work, of which the statement is stopped when the signal aborts. */
export async function onThread(
  engine: EmbeddedEngine,
  signal: AbortSignal,
  work: (thread: SessionThread) => Promise<void>,
): Promise<void> {
  const thread = await engine.pool.acquire(signal);
  const stopped = stopQuery(engine, thread.marker, signal);
  try {
    await work(thread);
  } finally {
    stopped.end();
    // A request to stop can still be under way.
    if (signal.aborted) await thread.renew();
    engine.pool.release(thread);
  }
}
