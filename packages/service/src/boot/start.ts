import { availableParallelism } from "node:os";
import { join } from "node:path";
import { openBlobStore } from "@heddle/blob-store";
import { openControlPlane } from "@heddle/control-plane";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { HeddleError } from "@heddle/errors";
import { onThreadOutput } from "@heddle/concurrency";
import { BodiesInFlight } from "@heddle/server-stub/node";
import { openTraceStore } from "@heddle/trace-store";
import type { TraceStore } from "@heddle/trace-store";
import { watchKeys } from "../access/watch-keys.js";
import { behindProxies } from "../http/behind-proxies.js";
import { createApp } from "./app.js";
import { endComputing } from "../computing/computing.js";
import { scheduleBlobCollection } from "../operations/blobs/collect-blobs.js";
import { openCompletions } from "../chat-completions/open-completions.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl } from "../config/config.js";
import type { Config } from "../config/config.js";
import { keyFile, openDataDirectory, ownerKey } from "../operations/data-directory.js";
import { drainable } from "./draining.js";
import { listenForOtlpGrpc, listenForRequests, listenForScrapes } from "./listening.js";
import { findLosses } from "../operations/losses/find-losses.js";
import { openLossLog } from "../operations/losses/loss-log.js";
import { checkControlPlaneExists } from "../operations/losses/missing-control-plane.js";
import { keepInventory } from "../operations/losses/part-inventory.js";
import { engineShares, openWorkingMemory } from "../limits/shares.js";
import { withScope } from "../limits/with-scope.js";
import { ownerLogInCode } from "../sessions/owner-log-in.js";
import { ProjectDeletion } from "../operations/delete-projects.js";
import { openLogger } from "../observability/logger.js";
import type { Logger } from "../observability/logger.js";
import { openObservability } from "../observability/open-observability.js";
import { hideSecrets, secretsOf } from "../observability/secrets.js";
import { operatorLine, outageLog } from "../operations/outages.js";
import { cancelWithCalls } from "../jobs/cancel-with-calls.js";
import { jobKinds } from "./job-kinds.js";
import { JobRunner } from "../jobs/runner.js";
import { openProviders } from "../providers/providers.js";
import { loadPrices } from "./prices.js";
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
import { takeWriterLease } from "./writer-lease.js";

export interface Running {
  url: string;
  apiKey: string;
  /** The file with the owner key; undefined for a configured one. */
  keyFile: string | undefined;
  /** Where `/metrics` needs no key; undefined without an address of its own. */
  metricsUrl: string | undefined;
  /** Makes a code by which the owner can log in once. */
  createLogInCode: () => Promise<string>;
  /** Where traces are taken over gRPC; undefined where they are not. */
  otlpGrpcUrl: string | undefined;
  log: Logger;
  /** Resolves with one line when another service has taken over writing the traces: this one must be closed. */
  replaced: Promise<string>;
  /** Stops accepting, finishes what was accepted, then ends the engine: nothing acknowledged is lost. */
  close(): Promise<void>;
}

export interface StartOptions {
  docsDir?: string;
  /** Of the built console. */
  consoleDir?: string;
  /** Of the packages for programs that use the service. */
  packagesDir?: string;
  /** Receives the lines of the log; default stderr. */
  writeLog?: (line: string) => void;
  /** How long another service waits for the lease of one that does not renew it; default 12 s. */
  leaseMs?: number;
  /** How long a job waits for a service that does not renew its claim; default 15 s. */
  jobLeaseMs?: number;
}

/** When the service stops: time for requests that were accepted, and then for the last bytes of their responses. */
const drainMs = 4000;
const cutMs = 1000;

/** Opens the stores and listens. Throws a {@link ConfigError} with one line for what cannot work. */
export async function startService(
  config: Config,
  { docsDir, consoleDir: builtConsole, packagesDir, writeLog = writeToStderr, leaseMs, jobLeaseMs }: StartOptions = {},
): Promise<Running> {
  const closing: (() => Promise<unknown> | void)[] = [];
  const close = async () => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  try {
    const prices = loadPrices(config.pricesFile);
    const directory = openDataDirectory(config.dataDir);
    closing.push(() => directory.release());
    const apiKey = ownerKey(directory, config.apiKey);
    checkControlPlaneExists(config);
    const hide = hideSecrets([...secretsOf(config), apiKey]);
    const log = openLogger(config.observability.log, { write: writeLog, hide });
    const info = (line: string) => log.info(line);
    const warn = (line: string) => log.warn(line);
    onThreadOutput((text) => log.error(text));
    closing.push(() => onThreadOutput(undefined));
    closing.push(endComputing);
    const observability = await openObservability(config.observability, log, version);
    closing.push(() => observability.close());
    const { metrics } = observability;
    const losses = openLossLog(config.dataDir, (line) => log.error(line));

    const control = await openControlPlane({
      url: controlPlaneUrl(config),
      owner: { secret: apiKey, entity: config.defaultEntity },
      waitingJobsPerKey: config.jobsWaitingPerKey,
    });
    closing.push(() => control.close());
    let store: TraceStore | undefined;
    const lease = await takeWriterLease(config, control, {
      log: warn,
      onLapse: () => store?.engineRestarted(),
      leaseMs,
    });
    closing.push(() => lease.release());
    const blobs = await openBlobStore({ url: config.blobsUrl, ...(config.s3 && { s3: config.s3 }) });
    closing.push(() => blobs.close());

    const engine = config.clickhouseUrl === undefined ? await startHost(config, info) : undefined;
    if (engine !== undefined) closing.push(() => engine.close());
    const opened = await openTraceStore({
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
    store = opened;
    closing.push(() => opened.close());
    engine?.on("restart", () => opened.engineRestarted());
    for (const { table, parts, path } of await opened.brokenParts()) {
      warn(
        `the table ${table} lacks the rows of ${parts} corrupt part(s), kept as ${path}: ` +
          "restore a backup, or remove them if a power loss cut a write short",
      );
    }

    // Not earlier: a start that is refused says why, and nothing else.
    for (const line of readableByOthers(config)) warn(line);
    losses.logEarlier();
    await findLosses(config, { control, store: opened, blobs }, losses);
    if (engine !== undefined) {
      const inventory = keepInventory(config.dataDir, opened);
      closing.push(() => inventory.stop());
    }

    const training = await openTrainingEngine(config, info);
    closing.push(() => training.close());
    const providers = openProviders(config.providers, metrics?.onOutgoing);
    const onUnexpected = (error: unknown) => log.error({ err: error }, "unexpected error");
    const onOutage = outageLog(warn);
    const jobs = new JobRunner(control.jobs, {
      concurrency: config.jobConcurrency,
      pools: { training: config.trainingConcurrency },
      sliceMs: config.jobSliceMs,
      leaseMs: jobLeaseMs,
      onError: (error) => (error instanceof HeddleError ? onOutage(error) : onUnexpected(error)),
      onEnded: metrics?.onJobEnded,
    });
    const written = cancelWithCalls(opened, jobs);
    const checkpointDirectories = openCheckpointDirectories({ config, control, blobs, training });
    const opening = {
      config,
      control,
      store: written,
      blobs,
      losses,
      providers,
      training,
      checkpointDirectories,
      jobs,
      version,
    };
    const completions = openCompletions(opening);
    const projectDeletion = new ProjectDeletion(opening, (error) =>
      error instanceof HeddleError ? onOutage(error) : onUnexpected(error),
    );
    const services: Services = { ...opening, completions, projectDeletion };
    const shown = config.observability.metrics === "on" ? metrics : undefined;
    const consoleDir = config.console ? builtConsole : undefined;
    const app = drainable(
      createApp(services, { docsDir, consoleDir, packagesDir, metrics: shown, onUnexpected, onOutage }),
    );
    const memory = openWorkingMemory(config.limits);
    metrics?.watch({ store: opened, engine, jobs: control.jobs, workingMemory: memory });
    const scrapes = await listenForScrapes(metrics, config);
    if (scrapes !== undefined) closing.push(() => scrapes.close(0));
    const keys = watchKeys(control);
    closing.push(() => keys.stop());
    const observers = [keys, ...observability.requests];
    const scoped = withScope(app.server, { memory, maxBytes: config.limits.maxResponseBytes, observers });
    const served = behindProxies(scoped, config.trustedProxies);
    const bodies = new BodiesInFlight({
      maxBodyBytesInFlight: config.bodyMemoryBytes,
      bodyStallMs: config.bodyTimeoutMs,
    });
    const server = await listenForRequests(served, config, { bodies, onRefused: observability.onRefused });
    const grpc = await listenForOtlpGrpc(served, config, { bodies, log: warn });
    await clearLeftovers(services);
    jobs.start(jobKinds(services, onUnexpected));
    const purge = purgeLeftovers(services, onUnexpected);
    closing.push(() => purge.stop());
    projectDeletion.resume();
    closing.push(() => projectDeletion.stop());
    const onFailure = (error: unknown) => (error instanceof HeddleError ? onOutage(error) : onUnexpected(error));
    const webhooks = new WebhookSender(services, onFailure);
    webhooks.start();
    closing.push(() => webhooks.stop());
    const events = new StoreEvents({ ...services, mayWrite: () => lease.mayWrite() }, onFailure);
    events.start();
    closing.push(() => events.stop());
    const thresholds = new ThresholdChecks(services, onFailure);
    thresholds.start();
    closing.push(() => thresholds.stop());
    const collection = scheduleBlobCollection(services, { mayWrite: () => lease.mayWrite(), onError: onUnexpected });
    closing.push(() => collection.stop());
    closing.push(async () => {
      await observability.flush();
      const drained = app.drain(drainMs);
      store.callTails.endTails();
      await Promise.all([drained, jobs.stop()]);
      await completions.close();
      await Promise.all([server.close(cutMs), grpc?.close(cutMs)]);
    });
    return {
      url: server.url,
      apiKey,
      keyFile: config.apiKey === undefined ? join(config.dataDir, keyFile) : undefined,
      metricsUrl: scrapes && `${scrapes.url}/metrics`,
      createLogInCode: async () => await ownerLogInCode(control, apiKey),
      otlpGrpcUrl: grpc?.url,
      log,
      replaced: lease.replaced,
      close,
    };
  } catch (error) {
    await close();
    throw error instanceof HeddleError ? new ConfigError(operatorLine(error)) : error;
  }
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

function writeToStderr(line: string): void {
  process.stderr.write(line);
}
