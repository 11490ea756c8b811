import { join } from "node:path";
import { mainShard, openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl } from "../config/config.js";
import type { Config } from "../config/config.js";
import { openLogger } from "../observability/logger.js";
import type { Logger } from "../observability/logger.js";
import { hideSecrets, secretsOf } from "../observability/secrets.js";
import { engineDirectory, keyFile, openDataDirectory, ownerKey } from "../operations/data-directory.js";
import { checkControlPlaneExists } from "../operations/losses/missing-control-plane.js";
import { ownerLogInCode } from "../sessions/owner-log-in.js";
import { Closing } from "./closing.js";
import type { Running } from "./start.js";
import { startError } from "./start-error.js";
import { WorkerProcess } from "./worker-process.js";
import { workerSettings, workerShard } from "./worker-settings.js";
import { holderOf } from "./writer-lease.js";

/** Below this an engine's own start takes nearly all of it. */
const leastEngineBytes = 800e6;

/**
 * Starts a replica for each core that the settings give, all at one port, and the engines that they share. This process works
 * on no request: it starts another worker where one ends, and what one has left is free at once.
 */
export async function startWorkers(config: Config): Promise<Running> {
  const closing = new Closing();
  try {
    return await openWorkers(config, closing);
  } catch (error) {
    await closing.close();
    throw error instanceof HeddleError ? startError(error) : error;
  }
}

async function openWorkers(config: Config, closing: Closing): Promise<Running> {
  const directory = openDataDirectory(config.dataDir);
  closing.add(() => directory.release());
  const apiKey = ownerKey(directory, config.apiKey);
  checkControlPlaneExists(config);
  const log = openLogger(config.observability.log, {
    write: (line) => process.stderr.write(line),
    hide: hideSecrets([...secretsOf(config), apiKey]),
  });
  const control = await openControlPlane({
    url: controlPlaneUrl(config),
    owner: { secret: apiKey, entity: config.defaultEntity },
  });
  closing.add(() => control.close());
  const { replaced } = await takeMachine(config, control, closing);
  const count = await shardCount(config, control);
  const engineUrls = await openEngines(config, closing, { count, log });
  const workers = Array.from({ length: config.workers }, (_, i) => {
    const position = i + 1;
    const env = workerSettings(config, { position, apiKey, engineUrls });
    const onEnded = async (pid: number) => await freeLeases(control, env["HEDDLE_DATA_DIR"] ?? "", pid);
    return new WorkerProcess({ position, env, log: (line) => log.error(line), onEnded });
  });
  closing.add(async () => void (await Promise.all(workers.map(async (worker) => await worker.stop()))));
  const [ready] = await Promise.all(workers.map(async (worker) => await worker.start())).catch((error: unknown) => {
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  });
  if (ready === undefined) throw new Error("there is no worker");
  return {
    ...ready,
    apiKey,
    keyFile: config.apiKey === undefined ? join(config.dataDir, keyFile) : undefined,
    createLogInCode: async () => await ownerLogInCode(control, apiKey),
    log,
    replaced,
    close: async () => await closing.close(),
  };
}

/** A control plane that other machines reach has the workers of one of them: their engines are there alone. */
async function takeMachine(
  config: Config,
  control: ControlPlane,
  closing: Closing,
): Promise<{ replaced: Promise<string> }> {
  if (config.databaseUrl === undefined) return { replaced: new Promise(() => {}) };
  const options = { holder: holderOf(config), durationMs: config.leaseMs };
  const lease = await control.leases.acquire("workers of this installation", options).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== "conflict") throw error;
    throw new ConfigError(`${error.message}. Stop that one first: HEDDLE_WORKERS is for one machine.`);
  });
  closing.add(async () => await lease.release());
  const replaced = lease.lost.then((holder) => `the workers of this installation are those of ${holder} now`);
  return { replaced };
}

/** How many tracing databases there are: fewer workers than before work on several each. */
async function shardCount(config: Config, control: ControlPlane): Promise<number> {
  const noted = (await control.shards.list()).map(({ name }) => name).filter((name) => name !== mainShard);
  const count = Math.max(config.workers, noted.length + 1);
  const names = Array.from({ length: count - 1 }, (_, i) => workerShard(i + 2));
  await control.shards.configure(names).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== "conflict") throw error;
    throw new ConfigError(`HEDDLE_WORKERS: ${error.message}: it was made for HEDDLE_SHARDS.`);
  });
  // Every worker knows the longer list.
  for (const name of names) await control.shards.add(name);
  return count;
}

/** URLs of the databases: each in an engine of its own, or all on the server that the settings name. */
async function openEngines(
  config: Config,
  closing: Closing,
  { count, log }: { count: number; log: Logger },
): Promise<string[]> {
  const { clickhouseUrl, engineMemoryBytes, dataDir } = config;
  if (clickhouseUrl !== undefined) {
    const others = Array.from({ length: count - 1 }, (_, i) => new URL(`/trace_worker_${i + 2}`, clickhouseUrl));
    const { username, password } = new URL(clickhouseUrl);
    for (const url of others) [url.username, url.password] = [username, password];
    return [clickhouseUrl, ...others.map(({ href }) => href)];
  }
  const memoryBytes = engineMemoryBytes === undefined ? undefined : Math.floor(engineMemoryBytes / count);
  if (memoryBytes !== undefined && memoryBytes < leastEngineBytes) {
    throw new ConfigError(
      `HEDDLE_ENGINE_MEMORY is for ${count} engines with HEDDLE_WORKERS, which need ${leastEngineBytes / 1e6}MB each.`,
    );
  }
  const urls: string[] = [];
  for (let position = 1; position <= count; position++) {
    const host = await startEngineHost({
      directory: engineDirectory(dataDir, position),
      listen: { port: 0 },
      ...(memoryBytes !== undefined && { memoryBytes }),
      hosts: count,
      log: (line) => log.info(`engine ${position}: ${line}`),
    });
    closing.add(async () => await host.close());
    const url = new URL(position === 1 ? "/" : "/trace", host.url);
    [url.username, url.password] = ["default", host.password ?? ""];
    urls.push(url.href);
  }
  return urls;
}

/** A worker of this machine that has ended writes no more: nobody needs to wait for its leases to run out. */
async function freeLeases({ leases }: ControlPlane, dataDir: string, pid: number): Promise<void> {
  const left = (await leases.list("")).filter(({ holder }) => holder === holderOf({ dataDir }, pid));
  for (const lease of left) await leases.forget(lease);
}
