import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBlobStore } from "@heddle/blob-store";
import { createTracingClient } from "@heddle/client/tracing";
import { createTrainingClient } from "@heddle/client/training";
import { openControlPlane } from "@heddle/control-plane";
import type { NewApiKey } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { toFetch } from "@heddle/server-stub/fetch";
import { BodiesInFlight, listen } from "@heddle/server-stub/node";
import { testDatabase } from "@heddle/trace-store/testing";
import { watchKeys } from "../src/access/watch-keys.js";
import { behindProxies } from "../src/http/behind-proxies.js";
import { createApp } from "../src/boot/app.js";
import { openCompletions } from "../src/chat-completions/open-completions.js";
import { controlPlaneUrl, readConfig } from "../src/config/config.js";
import { cancelWithCalls } from "../src/jobs/cancel-with-calls.js";
import { jobKinds } from "../src/boot/job-kinds.js";
import { JobRunner } from "../src/jobs/runner.js";
import { openLossLog } from "../src/operations/losses/loss-log.js";
import { engineShares, openWorkingMemory } from "../src/limits/shares.js";
import { withScope } from "../src/limits/with-scope.js";
import { openMetrics } from "../src/observability/metrics.js";
import { listenForGrpc } from "../src/otlp/listen-grpc.js";
import type { GrpcOptions } from "../src/otlp/listen-grpc.js";
import { collectorMethods } from "../src/otlp/collector.js";
import { openProviders } from "../src/providers/providers.js";
import { ProjectDeletion } from "../src/operations/delete-projects.js";
import { outageLog } from "../src/operations/outages.js";
import { providerKinds } from "../src/config/provider-settings.js";
import { loadPrices } from "../src/boot/prices.js";
import type { Services } from "../src/services.js";
import { openCheckpointDirectories } from "../src/checkpoints/open-checkpoint-directories.js";
import { openTrainingEngine } from "../src/boot/open-engine.js";
import { StoreEvents } from "../src/webhooks/store-events.js";
import { WebhookSender } from "../src/webhooks/webhook-sender.js";
import { openAiLike, startUpstream, writeProviders } from "./upstream.js";

/** Tests that send every operation read responses to their end. */
const endless = { HEDDLE_TAIL_SECONDS: "0" };

export const ownerKey = "o".repeat(40);

interface TestOptions {
  everyRoute?: boolean;
  /** Sends what is due to webhooks: the samples of the spec name hosts of others. */
  sendsWebhooks?: boolean;
  validateResponses?: boolean;
  /** Of a built console. */
  consoleDir?: string;
  /** A built documentation site, which is served instead of a page. */
  docsDir?: string;
}

/**
 * The service as it runs, on the engine of the test run with a database of its own; responses are checked against the
 * spec. Clients call it in process; `listen()` puts it on a socket for clients that need one. Unless `HEDDLE_PROVIDERS` is
 * given, one provider serves every model and list. With `everyRoute` it has a documentation of two pages, a console of one, and metrics.
 */
export async function openTestService(
  env: Record<string, string> = {},
  { everyRoute = false, validateResponses = true, consoleDir, docsDir: site, sendsWebhooks = false }: TestOptions = {},
) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-service-"));
  const upstream = await startUpstream(openAiLike);
  const everything = { baseUrl: upstream.url, allowPrivate: true, kinds: [...providerKinds], models: ["*"] };
  const providersFile = writeProviders(directory, { upstream: everything });
  const config = readConfig({ HEDDLE_DATA_DIR: directory, HEDDLE_PROVIDERS: providersFile, ...endless, ...env });
  const control = await openControlPlane({
    url: controlPlaneUrl(config),
    owner: { secret: ownerKey, entity: config.defaultEntity },
    waitingJobsPerKey: config.jobsWaitingPerKey,
  });
  const database = testDatabase();
  const opened = await database.open({
    controlPlaneId: control.identity,
    prices: loadPrices(config.pricesFile),
    shares: engineShares(config.limits),
  });
  const blobs = await openBlobStore({ url: config.blobsUrl, ...(config.s3 && { s3: config.s3 }) });
  const providers = openProviders(config.providers);
  const training = await openTrainingEngine(config, control.urlSignatures, () => {});
  const losses = openLossLog(config.dataDir, () => {});
  const unexpected: unknown[] = [];
  const outages: string[] = [];
  const onOutage = outageLog((line) => outages.push(line));
  const jobs = new JobRunner(control.jobs, {
    concurrency: config.jobConcurrency,
    pools: { training: config.trainingConcurrency },
    sliceMs: config.jobSliceMs,
    // As in the service: jobs meet stores that do not respond, too.
    onError: (error) => (error instanceof HeddleError ? onOutage(error) : unexpected.push(error)),
  });
  const store = cancelWithCalls(opened, jobs);
  const checkpointDirectories = openCheckpointDirectories({ config, control, blobs, training });
  const parts = {
    config,
    control,
    store,
    blobs,
    losses,
    providers,
    training,
    checkpointDirectories,
    jobs,
    version: "1.2.3",
  };
  const completions = openCompletions(parts);
  const projectDeletion = new ProjectDeletion(parts, (error) => unexpected.push(error));
  const services: Services = { ...parts, completions, projectDeletion };
  jobs.start(jobKinds(services, (error) => unexpected.push(error)));
  const webhooks = new WebhookSender(services, (error) => unexpected.push(error));
  const storeEvents = new StoreEvents({ ...services, everyMs: 20 }, (error) => unexpected.push(error));
  if (sendsWebhooks) {
    webhooks.start();
    storeEvents.start();
  }
  const docsDir = join(directory, "docs");
  mkdirSync(docsDir);
  for (const page of ["index", "page"]) writeFileSync(join(docsDir, `${page}.html`), `<title>${page}</title>`);
  const packagesDir = join(directory, "packages");
  mkdirSync(packagesDir);
  const packed = {
    name: "@heddle/client",
    version: "1.2.3",
    description: "",
    file: "client.tgz",
    size: 1,
    integrity: "",
  };
  writeFileSync(join(packagesDir, "packages.json"), JSON.stringify([packed]));
  writeFileSync(join(packagesDir, packed.file), "a tarball");
  const server = createApp(services, {
    consoleDir,
    ...(site !== undefined && { docsDir: site }),
    ...(everyRoute && { docsDir, consoleDir: docsDir, packagesDir, metrics: openMetrics("1.2.3") }),
    validateResponses,
    onUnexpected: (error) => unexpected.push(error),
    onOutage,
  });
  const { limits } = config;
  const keyWatch = watchKeys(control, 200);
  const scoped = withScope(server, {
    memory: openWorkingMemory(limits),
    maxBytes: limits.maxResponseBytes,
    observers: [keyWatch],
  });
  const app = behindProxies(scoped, config.trustedProxies);
  const serve = toFetch(app);
  const fetch = (input: Request | string | URL, init?: RequestInit) => serve(new Request(input, init));
  const closing: (() => unknown)[] = [() => keyWatch.stop()];
  const options = { baseUrl: "http://in-process", fetch, retries: 0 };

  return {
    services,
    /** Straight from the tracing database, to look behind the store. */
    tracingRows: async (sql: string): Promise<Record<string, string>[]> => await database.engine.rows({ sql }),
    /** To fill the tracing database with more than requests would in the time of a test. */
    tracingCommand: async (sql: string): Promise<void> => await database.engine.command({ sql }),
    fetch,
    owner_key: ownerKey,
    /** Errors that became a response 500: a test that expects none looks here. */
    unexpected,
    /** What was logged for the operator about stores that could not serve. */
    outages,
    tracing: (apiKey: string = ownerKey) => createTracingClient({ ...options, apiKey }),
    training: (apiKey: string = ownerKey) => createTrainingClient({ ...options, apiKey }),
    /** Secret of a new key. */
    async key(key: Partial<NewApiKey>): Promise<string> {
      const { secret } = await control.keys.create({ user_name: "alice", entity: "acme", role: "write", ...key });
      return secret;
    },
    async listen(): Promise<string> {
      const listening = await listen(app, { stallMs: config.limits.responseStallMs });
      closing.push(() => listening.close(0));
      return listening.url;
    },
    /** Takes traces over gRPC as the service does; returns the URL. */
    async listenGrpc(limits: Partial<GrpcOptions> = {}): Promise<string> {
      const defaults = { host: "127.0.0.1", port: 0, maxConnections: 64, maxCalls: 64, headersMs: 5000, stallMs: 5000 };
      const bodies = new BodiesInFlight({
        maxBodyBytesInFlight: config.bodyMemoryBytes,
        bodyStallMs: config.bodyTimeoutMs,
      });
      const listening = await listenForGrpc(app, { ...defaults, methods: collectorMethods, bodies, ...limits });
      closing.push(() => listening.close(0));
      return listening.url;
    },
    async close(): Promise<void> {
      await storeEvents.stop();
      await webhooks.stop();
      await projectDeletion.stop();
      await jobs.stop();
      await completions.close();
      await training.close();
      for (const step of closing) await step();
      await database.drop();
      await blobs.close();
      await control.close();
      await upstream.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export type TestService = Awaited<ReturnType<typeof openTestService>>;

/** A project id that no other test uses. */
export const newProject = (entity = "acme"): string => `${entity}/p-${randomUUID().slice(0, 8)}`;
