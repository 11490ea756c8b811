import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { mainShard } from "@heddle/control-plane";
import { openBlobStore } from "@heddle/blob-store";
import type { BlobStore } from "@heddle/blob-store";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { openTraceStore } from "@heddle/trace-store";
import type { Price, TraceStore, TraceStoreOptions } from "@heddle/trace-store";
import type { Config } from "../config/config.js";
import { newestCallBytes } from "../limits/call-memory.js";
import { engineShares } from "../limits/shares.js";
import { engineDirectory } from "../operations/data-directory.js";
import { findLosses } from "../operations/losses/find-losses.js";
import { keepInventory } from "../operations/losses/part-inventory.js";
import type { Closing } from "./closing.js";
import type { Base } from "./open-base.js";
import { openOnEngine } from "./open-on-engine.js";
import { readableByOthers } from "./readable-by-others.js";
import { writerEpochs } from "./writer-epochs.js";
import type { WriterLease } from "./writer-lease.js";

/** Time for what only makes the next start quicker. */
const leaveMs = 100;

export async function openBlobs({ config }: Base, closing: Closing): Promise<BlobStore> {
  const blobs = await openBlobStore({ url: config.blobsUrl, ...(config.s3 && { s3: config.s3 }) });
  closing.add(() => blobs.close());
  return blobs;
}

interface TracesOptions {
  prices: readonly Price[];
  blobs: BlobStore;
  /** Called when it can be worked on, before what is there is compared. */
  onOpen?: (store: TraceStore) => void;
}

/** Opens the first tracing database, which the process has the lease of, and compares what is there with what was. */
export async function openTraces(
  base: Base,
  lease: WriterLease,
  closing: Closing,
  { prices, blobs, onOpen }: TracesOptions,
): Promise<{ store: TraceStore; engine: EngineHost | undefined }> {
  const { config, log, losses } = base;
  const info = (line: string) => log.info(line);
  const warn = (line: string) => log.warn(line);
  const engine = config.clickhouseUrl === undefined ? await startHost(config, info) : undefined;
  if (engine !== undefined) closing.add(() => engine.close());
  const open = async () =>
    await openLeased(base, lease, {
      shard: mainShard,
      client: engine?.connection() ?? { url: config.clickhouseUrl },
      prices,
      onLoss: (lost) => losses.report("traces", lost),
      cores: engine && availableParallelism(),
    });
  const projects = await projectsIn(base, mainShard);
  const store = await (engine === undefined ? open() : openOnEngine(engine, open));
  // Another replica takes the database over at once.
  closing.add(() => store.close(config.replicaAddress === undefined ? {} : { withinMs: leaveMs }));
  onOpen?.(store);
  engine?.on("restart", () => store.engineRestarted());
  for (const { table, parts, path } of await store.brokenParts()) {
    warn(
      `the table ${table} lacks the rows of ${parts} corrupt part(s), kept as ${path}: ` +
        "restore a backup, or remove them if a power loss cut a write short",
    );
  }

  // Not earlier: a start that is refused says why, and nothing else.
  for (const line of readableByOthers(config)) warn(line);
  losses.logEarlier();
  await findLosses(config, { projects, store, blobs }, losses);
  if (engine !== undefined) {
    const inventory = keepInventory(config.dataDir, store);
    closing.add(() => inventory.stop());
  }
  return { store, engine };
}

/** How many projects a tracing database has; asked before it is opened, since other replicas may put some there meanwhile. */
export async function projectsIn({ control }: Base, shard: string): Promise<number> {
  return (await control.shards.list()).find(({ name }) => name === shard)?.projects ?? 0;
}

interface LeasedOptions extends Pick<TraceStoreOptions, "client" | "database" | "prices" | "onLoss"> {
  /** Of an engine on this machine. */
  cores?: number | undefined;
  /** Name of the tracing database among all of the installation. */
  shard: string;
}

/** Opens a tracing database that the process has the lease of, with the settings that all of them share. */
export async function openLeased(
  { config, log, observability, losses, control }: Base,
  lease: WriterLease,
  { shard, cores, ...own }: LeasedOptions,
): Promise<TraceStore> {
  // Their engines run with them only, so that nobody could accept it.
  const onOlder = cluster.isWorker ? (lost: string) => losses.report("control_plane", lost) : undefined;
  const epochs = lease.isShared ? writerEpochs(control, shard, onOlder) : undefined;
  const store = await openTraceStore({
    ...own,
    ...(epochs && { epochs }),
    ...(config.clickhouseCluster !== undefined && { cluster: config.clickhouseCluster }),
    controlPlaneId: control.identity,
    textIndex: config.textIndex,
    limits: { newestCallBytes: newestCallBytes(config) },
    shares: engineShares(config.limits, { cores, databases: config.shards.length + 1 }),
    mayWrite: () => lease.mayWrite(),
    onProgress: (line) => log.info(line),
    onFenced(rows) {
      log.warn(`the tracing database ${shard} refused ${rows} row(s) of this service: another one writes it now`);
      observability.metrics?.onFenced(shard, rows);
    },
    ...(observability.store && { observer: observability.store }),
  });
  lease.onLapse(() => store.engineRestarted());
  const lost = store.isNew ? undefined : epochs?.lostIn(await store.lastChange(""));
  if (lost !== undefined) own.onLoss?.(lost);
  return store;
}

async function startHost(config: Config, log: (line: string) => void): Promise<EngineHost> {
  // The start of the host is not logged, later events are.
  let started = false;
  const host = await startEngineHost({
    directory: engineDirectory(config.dataDir),
    memoryBytes: config.engineMemoryBytes,
    log: (line) => started && log(line),
  });
  started = true;
  return host;
}
