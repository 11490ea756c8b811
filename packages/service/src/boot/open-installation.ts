import { availableParallelism } from "node:os";
import { join } from "node:path";
import { openBlobStore } from "@heddle/blob-store";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { HeddleError } from "@heddle/errors";
import type { HttpServer } from "@heddle/server-stub";
import { openTraceStore } from "@heddle/trace-store";
import { watchKeys } from "../access/watch-keys.js";
import { createApp } from "./app.js";
import { scheduleBlobCollection } from "../operations/blobs/collect-blobs.js";
import { openCompletions } from "../chat-completions/open-completions.js";
import type { Config } from "../config/config.js";
import { drainable } from "./draining.js";
import { findLosses } from "../operations/losses/find-losses.js";
import { keepInventory } from "../operations/losses/part-inventory.js";
import { engineShares, openWorkingMemory } from "../limits/shares.js";
import { withScope } from "../limits/with-scope.js";
import { ProjectDeletion } from "../operations/delete-projects.js";
import { outageLog } from "../operations/outages.js";
import { cancelWithCalls } from "../jobs/cancel-with-calls.js";
import { jobKinds } from "./job-kinds.js";
import { JobRunner } from "../jobs/runner.js";
import { openProviders } from "../providers/providers.js";
import { readableByOthers } from "./readable-by-others.js";
import type { Services } from "../services.js";
import { openCheckpointDirectories } from "../checkpoints/open-checkpoint-directories.js";
import { clearLeftovers } from "../training-jobs/clear-leftovers.js";
import { openTrainingEngine } from "./open-engine.js";
import { purgeLeftovers } from "../checkpoints/purge-checkpoints.js";
import { version } from "./version.js";
import { StoreEvents } from "../webhooks/store-events.js";
import { ThresholdChecks } from "../webhooks/threshold-checks.js";
import { WebhookSender } from "../webhooks/webhook-sender.js";
import type { Closing } from "./closing.js";
import type { Base } from "./open-base.js";
import type { Price } from "@heddle/trace-store";
import type { WriterLease } from "./writer-lease.js";

/** The stores, what works on them, and the server of both interfaces. */
export interface Installation {
  server: HttpServer;
  /** Begins what goes on without requests; called once `server` gets them. */
  begin(): Promise<void>;
  /** Finishes what was accepted and refuses what comes after. */
  drain(): Promise<void>;
}

export interface InstallationOptions {
  prices: readonly Price[];
  docsDir?: string | undefined;
  /** Of the built console. */
  consoleDir?: string | undefined;
  /** Of the packages for programs that use the service. */
  packagesDir?: string | undefined;
  /** How long a job waits for a service that does not renew its claim; default 15 s. */
  jobLeaseMs?: number | undefined;
}

/** When the service stops: time for requests that were accepted. */
const drainMs = 4000;

/** Opens the stores of a process that holds the lease of the traces. */
export async function openInstallation(
  base: Base,
  lease: WriterLease,
  closing: Closing,
  { prices, docsDir, consoleDir: builtConsole, packagesDir, jobLeaseMs }: InstallationOptions,
): Promise<Installation> {
  const { config, log, observability, losses, control } = base;
  const { metrics } = observability;
  const info = (line: string) => log.info(line);
  const warn = (line: string) => log.warn(line);
  const blobs = await openBlobStore({ url: config.blobsUrl, ...(config.s3 && { s3: config.s3 }) });
  closing.add(() => blobs.close());

  const engine = config.clickhouseUrl === undefined ? await startHost(config, info) : undefined;
  if (engine !== undefined) closing.add(() => engine.close());
  const store = await openTraceStore({
    client: engine?.clientOptions() ?? { url: config.clickhouseUrl },
    controlPlaneId: control.identity,
    textIndex: config.textIndex,
    mayWrite: () => lease.mayWrite(),
    prices,
    onLoss: (lost) => losses.report("traces", lost),
    onProgress: info,
    shares: engineShares(config.limits, engine && availableParallelism()),
    ...(observability.store && { observer: observability.store }),
  });
  closing.add(() => store.close());
  lease.onLapse(() => store.engineRestarted());
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
  await findLosses(config, { control, store, blobs }, losses);
  if (engine !== undefined) {
    const inventory = keepInventory(config.dataDir, store);
    closing.add(() => inventory.stop());
  }

  const training = await openTrainingEngine(config, info);
  closing.add(() => training.close());
  const providers = openProviders(config.providers, metrics?.onOutgoing);
  const onUnexpected = (error: unknown) => log.error({ err: error }, "unexpected error");
  const onOutage = outageLog(warn);
  const onFailure = (error: unknown) => (error instanceof HeddleError ? onOutage(error) : onUnexpected(error));
  const jobs = new JobRunner(control.jobs, {
    concurrency: config.jobConcurrency,
    pools: { training: config.trainingConcurrency },
    sliceMs: config.jobSliceMs,
    leaseMs: jobLeaseMs,
    onError: onFailure,
    onEnded: metrics?.onJobEnded,
  });
  const checkpointDirectories = openCheckpointDirectories({ config, control, blobs, training });
  const openedParts = {
    config,
    control,
    store: cancelWithCalls(store, jobs),
    blobs,
    losses,
    providers,
    training,
    checkpointDirectories,
    jobs,
    version,
  };
  const completions = openCompletions(openedParts);
  const projectDeletion = new ProjectDeletion(openedParts, onFailure);
  const services: Services = { ...openedParts, completions, projectDeletion };
  const publicMetrics = config.observability.metrics === "on" ? metrics : undefined;
  const consoleDir = config.console ? builtConsole : undefined;
  const app = drainable(
    createApp(services, { docsDir, consoleDir, packagesDir, metrics: publicMetrics, onUnexpected, onOutage }),
  );
  const memory = openWorkingMemory(config.limits);
  metrics?.watch({ store, engine, jobs: control.jobs, workingMemory: memory });
  const keys = watchKeys(control);
  closing.add(() => keys.stop());
  const observers = [keys, ...observability.requests];
  return {
    server: withScope(app.server, { memory, maxBytes: config.limits.maxResponseBytes, observers }),

    async begin() {
      await clearLeftovers(services);
      jobs.start(jobKinds(services, onUnexpected));
      const purge = purgeLeftovers(services, onUnexpected);
      closing.add(() => purge.stop());
      projectDeletion.resume();
      closing.add(() => projectDeletion.stop());
      const webhooks = new WebhookSender(services, onFailure);
      webhooks.start();
      closing.add(() => webhooks.stop());
      const mayWrite = () => lease.mayWrite();
      const events = new StoreEvents({ ...services, mayWrite }, onFailure);
      events.start();
      closing.add(() => events.stop());
      const thresholds = new ThresholdChecks(services, onFailure);
      thresholds.start();
      closing.add(() => thresholds.stop());
      const collection = scheduleBlobCollection(services, { mayWrite, onError: onUnexpected });
      closing.add(() => collection.stop());
    },

    async drain() {
      await observability.flush();
      const drained = app.drain(drainMs);
      store.callTails.endTails();
      await Promise.all([drained, jobs.stop()]);
      await completions.close();
    },
  };
}

async function startHost(config: Config, log: (line: string) => void): Promise<EngineHost> {
  // The start of the host is not logged, later events are.
  let started = false;
  const host = await startEngineHost({
    directory: join(config.dataDir, "clickhouse"),
    memoryBytes: config.engineMemoryBytes,
    log: (line) => started && log(line),
  });
  started = true;
  return host;
}
