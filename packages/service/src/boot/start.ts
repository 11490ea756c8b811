import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import type { Config } from "../config/config.js";
import { behindProxies } from "../http/behind-proxies.js";
import type { Logger } from "../observability/logger.js";
import { keyFile } from "../operations/data-directory.js";
import { ownerLogInCode } from "../sessions/owner-log-in.js";
import { Closing } from "./closing.js";
import { listenForScrapes } from "./listening.js";
import { openBase } from "./open-base.js";
import type { Base } from "./open-base.js";
import { whyNotTrained } from "./open-engine.js";
import { openInstallation } from "./open-installation.js";
import type { InstallationOptions } from "./open-installation.js";
import { openSockets } from "./open-sockets.js";
import type { Sockets } from "./open-sockets.js";
import { loadPrices } from "./prices.js";
import { joinReplicas } from "./join-replicas.js";
import { startError } from "./start-error.js";
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
  /** Why nothing can be trained, and the remedy; undefined where something can. */
  notTrained: string | undefined;
  log: Logger;
  /** Resolves with one line when this service cannot go on, as when another one has taken over: it must be closed. */
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
  /** How long a job waits for a service that does not renew its claim; default 15 s. */
  jobLeaseMs?: number;
  /** Called before it listens: something else may have the port until then. */
  beforeListening?: () => Promise<void>;
}

/** When the service stops: time for the last bytes of responses. */
const cutMs = 1000;

/** Opens the stores and listens. Throws an error with one line for what cannot work, see {@link startError}. */
export async function startService(
  config: Config,
  {
    docsDir,
    consoleDir,
    packagesDir,
    writeLog = writeToStderr,
    jobLeaseMs,
    beforeListening = async () => {},
  }: StartOptions = {},
): Promise<Running> {
  const closing = new Closing();
  try {
    const installationOptions: InstallationOptions = {
      prices: loadPrices(config.pricesFile),
      docsDir,
      consoleDir,
      packagesDir,
      jobLeaseMs,
    };
    const base = await openBase(config, closing, { writeLog, beforeListening });
    const { observability, control, apiKey, log } = base;
    const scrapes = await listenForScrapes(observability.metrics, config);
    if (scrapes !== undefined) closing.add(() => scrapes.close(0));
    const { sockets, replaced } = await (config.replicaAddress === undefined
      ? serveAlone(base, closing, installationOptions)
      : joinReplicas(base, closing, { installationOptions, address: config.replicaAddress }));
    const notTrained = await whyNotTrained(config);
    if (notTrained !== undefined) log.warn(`nothing can be trained: ${notTrained}`);
    return {
      url: sockets.url,
      apiKey,
      keyFile: config.apiKey === undefined ? join(config.dataDir, keyFile) : undefined,
      metricsUrl: scrapes && `${scrapes.url}/metrics`,
      createLogInCode: async () => await ownerLogInCode(control, apiKey),
      otlpGrpcUrl: sockets.otlpGrpcUrl,
      notTrained,
      log,
      replaced,
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error instanceof HeddleError ? startError(error) : error;
  }
}

/** One service, which works on the traces or does not start. */
async function serveAlone(
  base: Base,
  closing: Closing,
  installationOptions: InstallationOptions,
): Promise<{ sockets: Sockets; replaced: Promise<string> }> {
  const { config, control, log } = base;
  const lease = await takeWriterLease(config, control, { log: (line) => log.warn(line) });
  closing.add(() => lease.release());
  const installation = await openInstallation(base, lease, closing, installationOptions);
  const served = behindProxies(installation.server, config.trustedProxies);
  const sockets = await openSockets(base, { http: served, grpc: served });
  await installation.begin();
  closing.add(async () => {
    await installation.drain();
    await sockets.close(cutMs);
  });
  return { sockets, replaced: lease.replaced };
}

function writeToStderr(line: string): void {
  process.stderr.write(line);
}
