import type { BlobStore } from "@heddle/blob-store";
import { HeddleError } from "@heddle/errors";
import type { HttpServer } from "@heddle/server-stub";
import { watchKeys } from "../access/watch-keys.js";
import { createApp } from "./app.js";
import { scheduleBlobCollection } from "../operations/blobs/collect-blobs.js";
import { openCompletions } from "../chat-completions/open-completions.js";
import { drainable } from "./draining.js";
import { withScope } from "../limits/with-scope.js";
import { ProjectDeletion } from "../operations/delete-projects.js";
import { outageLog } from "../operations/outages.js";
import { cancelWithCalls } from "../jobs/cancel-with-calls.js";
import { jobKinds } from "./job-kinds.js";
import { JobRunner } from "../jobs/runner.js";
import { openProviders } from "../providers/providers.js";
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
import type { Price, TraceStore } from "@heddle/trace-store";
import { openBlobs, openTraces } from "./open-traces.js";
import type { WriterLease } from "./writer-lease.js";

/** The stores, what works on them, and the server of both interfaces. */
export interface Installation {
  server: HttpServer;
  /** Begins what goes on without requests; called once `server` gets them. */
  begin(): Promise<void>;
  /** Finishes what was accepted and refuses what comes after. */
  drain(): Promise<void>;
}

/** What works on the stores, and the server of both interfaces. */
export interface Work extends Omit<Installation, "begin"> {
  /** Begins what goes on without requests, and in one process only, until `leased` is closed. */
  begin(lease: WriterLease, leased: Closing): Promise<void>;
  /** Ends what `begin` has begun of jobs; others go on with them. */
  endJobs(): Promise<void>;
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

interface WorkOptions extends Omit<InstallationOptions, "prices"> {
  /** How many processes take requests. */
  replicas?: () => number;
  /** Called with a project that is gone. */
  onDeleted?: (projectId: string) => Promise<void>;
}

/** When the service stops: time for requests that were accepted. */
const drainMs = 4000;

/** Opens the stores of a process that holds the lease of the traces, and what works on them. */
export async function openInstallation(
  base: Base,
  lease: WriterLease,
  closing: Closing,
  options: InstallationOptions,
): Promise<Installation> {
  const blobs = await openBlobs(base, closing);
  const { store, engine } = await openTraces(base, lease, closing, { prices: options.prices, blobs });
  const work = await openWork(base, closing, { store, blobs }, options);
  base.observability.metrics?.watch({ store, engine, jobs: base.control.jobs, workingMemory: base.memory });
  return { ...work, begin: async () => await work.begin(lease, closing) };
}

/** Opens what works on the stores, whether or not this process has the lease of the traces. */
export async function openWork(
  base: Base,
  closing: Closing,
  { store, blobs }: { store: TraceStore; blobs: BlobStore },
  { docsDir, consoleDir: builtConsole, packagesDir, jobLeaseMs, onDeleted, replicas }: WorkOptions,
): Promise<Work> {
  const { config, log, observability, losses, control, memory } = base;
  const { metrics } = observability;
  const info = (line: string) => log.info(line);
  const warn = (line: string) => log.warn(line);
  const training = await openTrainingEngine(config, control.urlSignatures, info);
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
    replicas,
    providers,
    training,
    checkpointDirectories,
    jobs,
    version,
  };
  const completions = openCompletions(openedParts);
  const projectDeletion = new ProjectDeletion({ ...openedParts, ...(onDeleted && { onDeleted }) }, onFailure);
  const services: Services = { ...openedParts, completions, projectDeletion };
  const publicMetrics = config.observability.metrics === "on" ? metrics : undefined;
  const consoleDir = config.console ? builtConsole : undefined;
  const app = drainable(
    createApp(services, { docsDir, consoleDir, packagesDir, metrics: publicMetrics, onUnexpected, onOutage }),
  );
  const keys = watchKeys(control);
  closing.add(() => keys.stop());
  const observers = [keys, ...observability.requests];
  return {
    server: withScope(app.server, { memory, maxBytes: config.limits.maxResponseBytes, observers }),

    endJobs: async () => await jobs.stop(),

    async begin(lease, leased) {
      await clearLeftovers(services);
      jobs.start(jobKinds(services, onUnexpected));
      const purge = purgeLeftovers(services, onUnexpected);
      leased.add(() => purge.stop());
      projectDeletion.resume();
      leased.add(() => projectDeletion.stop());
      const webhooks = new WebhookSender(services, onFailure);
      webhooks.start();
      leased.add(() => webhooks.stop());
      const mayWrite = () => lease.mayWrite();
      const events = new StoreEvents({ ...services, mayWrite }, onFailure);
      events.start();
      leased.add(() => events.stop());
      const thresholds = new ThresholdChecks(services, onFailure);
      thresholds.start();
      leased.add(() => thresholds.stop());
      const collection = scheduleBlobCollection(services, { mayWrite, onError: onUnexpected });
      leased.add(() => collection.stop());
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
