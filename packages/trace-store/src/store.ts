import { connectEngine } from "./engine.js";
import type { Engine, EngineConnection } from "./engine.js";
import { claimDatabase } from "./migrations/identity.js";
import { migrate } from "./migrations/migrate.js";
import { seedClock, versionClock } from "./version-clock.js";
import type { VersionClock } from "./version-clock.js";
import { type Objects, openObjects } from "./objects.js";

export interface TraceStoreOptions {
  /** How to reach the engine, as `EngineHost.clientOptions()` gives it. */
  client: EngineConnection;
  /** Default `trace`. */
  database?: string;
  /** Name of a ClickHouse cluster; its tables are then replicated. */
  cluster?: string;
  /** The identity of the control plane; the database belongs to the first one that opens it. */
  control_plane_id: string;
  /** Microseconds since 1970. */
  now?: () => bigint;
  /** Lets a test stand between the store and its engine. */
  wrapEngine?: (engine: Engine) => Engine;
}

/** What every subject of the store works with. */
export interface StoreContext {
  engine: Engine;
  clock: VersionClock;
  /** Microseconds since 1970. */
  now: () => bigint;
}

export interface TraceStore {
  objects: Objects;
  close(): Promise<void>;
}

/**
 * Opens the tracing database: makes or upgrades its tables, checks that it belongs to this control plane, and mends
 * what a crash may have left.
 *
 * Throws `busy` when the engine does not answer and `conflict` when the database is newer or somebody else's.
 */
export async function openTraceStore(options: TraceStoreOptions): Promise<TraceStore> {
  const placement = { database: options.database ?? "trace", cluster: options.cluster };
  const bootstrap = connectEngine(options.client, "default");
  try {
    await migrate(bootstrap, placement);
    await claimDatabase(bootstrap, placement, options.control_plane_id);
  } finally {
    await bootstrap.close();
  }
  const connected = connectEngine(options.client, placement.database);
  const engine = options.wrapEngine?.(connected) ?? connected;
  const now = options.now ?? (() => BigInt(Date.now()) * 1000n);
  const clock = versionClock(now);
  await seedClock(engine, clock);
  const context = { engine, clock, now };
  return {
    objects: openObjects(context),
    close: () => connected.close(),
  };
}
