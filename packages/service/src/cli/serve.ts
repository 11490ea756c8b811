import cluster from "node:cluster";
import { consoleDirectory } from "@heddle/console";
import { docsDirectory } from "@heddle/docs";
import { banner, shownKey } from "../boot/banner.js";
import { ConfigError } from "../config/config-error.js";
import { isSettingName, readConfig } from "../config/config.js";
import type { Config } from "../config/config.js";
import { Entrance } from "../boot/entrance.js";
import { startService } from "../boot/start.js";
import type { Running } from "../boot/start.js";
import { untilAvailable } from "../boot/until-available.js";
import { startWorkers } from "../boot/serve-workers.js";
import type { WorkerMessage } from "../boot/worker-process.js";
import { packagesDirectory } from "../http/served-packages.js";
import { UsageError } from "./command.js";
import type { Command, ServeOptions } from "./command.js";
import { openLogger } from "../observability/logger.js";
import { hideSecrets, secretsOf } from "../observability/secrets.js";
import { logInLink } from "../sessions/owner-log-in.js";
import { settingsTable } from "./settings-table.js";

/** A stop that takes longer than this is cut off: only requests without a response are lost. */
const stopMs = 9000;

const synopsis = "heddle serve";

export const command: Command = {
  usage: () => `${synopsis}

Runs the service until SIGTERM or SIGINT, then finishes the requests it has accepted. It takes no options: all
settings are environment variables.

${settingsTable(Math.min(process.stdout.columns || 100, 100))}

Files on S3 use AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL.`,
  async run(args, context) {
    if (args[0] !== undefined) throw new UsageError(unexpected(args[0]), synopsis);
    const config = readConfig();
    if (cluster.isWorker) await work(config, context.serve);
    else await serve(config, 0, context.serve);
  },
};

/** The message for an argument of `serve`: an option may be meant as the setting of that name. */
function unexpected(arg: string): string {
  const [option = ""] = arg.replace(/^-+/, "").split("=");
  const setting = `HEDDLE_${option.replaceAll("-", "_").toUpperCase()}`;
  const meant = isSettingName(setting) ? ` Set the environment variable ${setting}.` : " See heddle serve --help.";
  return `serve takes no argument "${arg}".${meant}`;
}

/** Printed on a terminal only, as the key is: other output is kept in logs. */
async function consoleLink(running: Running, config: Config): Promise<string | undefined> {
  if (!config.console || !process.stdout.isTTY) return undefined;
  return logInLink(config.publicUrl ?? running.url, await running.createLogInCode());
}

/**
 * Runs until SIGTERM or SIGINT, then finishes the requests it has accepted. Throws {@link ConfigError}
 * when another service has taken over.
 */
async function serve(config: Config, started: number, options: ServeOptions = {}): Promise<void> {
  const running = await (config.workers > 1
    ? waiting(config, options, async () => await startWorkers(config))
    : startWaiting(config, options));
  const { log } = running;
  const readyMs = performance.now() - started;
  if (config.observability.log.format === "json") {
    const { url, metricsUrl, otlpGrpcUrl, notTrained } = running;
    log.info(
      {
        url,
        public_url: config.publicUrl,
        metrics_url: metricsUrl,
        otlp_grpc_url: otlpGrpcUrl,
        no_training: notTrained,
        ready_ms: Math.round(readyMs),
      },
      "Heddle is ready",
    );
  } else {
    process.stdout.write(
      banner({
        url: running.url,
        publicUrl: config.publicUrl,
        key: shownKey(running.apiKey, running.keyFile, process.stdout.isTTY),
        metricsUrl: running.metricsUrl,
        consoleLink: await consoleLink(running, config),
        otlpGrpcUrl: running.otlpGrpcUrl,
        notTrained: running.notTrained,
        projectId: `${config.defaultEntity}/demo`,
        readyMs,
      }),
    );
  }
  await untilStopped(running);
}

/** The same for one of the processes of HEDDLE_WORKERS: the first one tells its users of it. */
async function work(config: Config, options: ServeOptions): Promise<void> {
  const tell = async (message: WorkerMessage) =>
    await new Promise<void>((resolve) => process.send?.(message, undefined, {}, () => resolve()));
  const starting = waiting(config, options, async () => await start(config, options));
  const running = await starting.catch(async (error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    await tell({ failed: error.message });
    throw error;
  });
  const { url, metricsUrl, otlpGrpcUrl, notTrained } = running;
  await tell({ ready: { url, metricsUrl, otlpGrpcUrl, notTrained } });
  await untilStopped(running);
}

/** A service may start before the servers of its stores do. */
async function waiting(
  config: Config,
  { storesWithinMs: withinMs }: ServeOptions,
  attempt: () => Promise<Running>,
  onWait?: (reason: string) => Promise<void>,
): Promise<Running> {
  const { databaseUrl, clickhouseUrl, blobsUrl } = config;
  if (![databaseUrl, clickhouseUrl, blobsUrl].some((url) => url !== undefined && /^(postgres|http|s3)/.test(url)))
    return await attempt();
  const hide = hideSecrets(secretsOf(config));
  const log = openLogger(config.observability.log, { write: (line) => void process.stderr.write(line), hide });
  return await untilAvailable(attempt, {
    log: (line) => log.warn(line),
    ...(onWait !== undefined && { onWait }),
    ...(withinMs !== undefined && { withinMs }),
  });
}

/** The same, with something that listens in its place while it waits. */
async function startWaiting(config: Config, options: ServeOptions): Promise<Running> {
  const entrance = new Entrance(config);
  const attempt = async () => await start(config, options, async () => await entrance.close());
  const onWait = async (reason: string) => await entrance.waitsFor(reason);
  try {
    return await waiting(config, options, attempt, onWait);
  } finally {
    await entrance.close();
  }
}

async function start(
  config: Config,
  { jobLeaseMs }: ServeOptions,
  beforeListening?: () => Promise<void>,
): Promise<Running> {
  return await startService(config, {
    docsDir: docsDirectory,
    consoleDir: consoleDirectory,
    packagesDir: packagesDirectory,
    ...(jobLeaseMs !== undefined && { jobLeaseMs }),
    ...(beforeListening !== undefined && { beforeListening }),
  });
}

async function untilStopped(running: Running): Promise<void> {
  const { log } = running;
  const stopSignal = new Promise<void>((resolve) => {
    // Not `once`: pnpm passes a Ctrl-C on to a service that has it from the terminal already. Left to Node, the second
    // one would end the process in the middle of the stop that the first began.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
  const replaced = await Promise.race([stopSignal, running.replaced]);
  log.info("Stopping: finishing what was accepted");
  setTimeout(() => {
    log.error(`not finished after ${stopMs / 1000} s, leaving now`);
    process.exit(1);
  }, stopMs).unref();
  await running.close();
  if (replaced !== undefined) throw new ConfigError(replaced);
}
