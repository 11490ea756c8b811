import { onThreadOutput } from "@heddle/concurrency";
import type { FairShare } from "@heddle/concurrency";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { endComputing } from "../computing/computing.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl } from "../config/config.js";
import type { Config } from "../config/config.js";
import { openWorkingMemory } from "../limits/shares.js";
import { openLogger } from "../observability/logger.js";
import type { Logger } from "../observability/logger.js";
import { openObservability } from "../observability/open-observability.js";
import { hideSecrets, secretsOf } from "../observability/secrets.js";
import { openDataDirectory, ownerKey } from "../operations/data-directory.js";
import { openLossLog } from "../operations/losses/loss-log.js";
import type { LossLog } from "../operations/losses/loss-log.js";
import { checkControlPlaneExists } from "../operations/losses/missing-control-plane.js";
import type { Closing } from "./closing.js";
import { version } from "./version.js";
import { workerShard } from "./worker-settings.js";

/** What every process of an installation has, whether it works on the traces or not. */
export interface Base {
  config: Config;
  apiKey: string;
  log: Logger;
  observability: Awaited<ReturnType<typeof openObservability>>;
  losses: LossLog;
  control: ControlPlane;
  /** Of all requests. */
  memory: FairShare;
  /** Called when the service itself will listen. */
  beforeListening: () => Promise<void>;
}

export async function openBase(
  config: Config,
  closing: Closing,
  { writeLog, beforeListening }: { writeLog: (line: string) => void } & Pick<Base, "beforeListening">,
): Promise<Base> {
  const directory = openDataDirectory(config.dataDir);
  closing.add(() => directory.release());
  const apiKey = ownerKey(directory, config.apiKey);
  checkControlPlaneExists(config);
  const hide = hideSecrets([...secretsOf(config), apiKey]);
  const log = openLogger(config.observability.log, { write: writeLog, hide });
  onThreadOutput((text) => log.error(text));
  closing.add(() => onThreadOutput(undefined));
  closing.add(endComputing);
  const observability = await openObservability(config.observability, log, version);
  closing.add(() => observability.close());
  const losses = openLossLog(config.dataDir, (line) => log.error(line));
  const control = await openControlPlane({
    url: controlPlaneUrl(config),
    owner: { secret: apiKey, entity: config.defaultEntity },
    waitingJobsPerKey: config.jobsWaitingPerKey,
  });
  closing.add(() => control.close());
  await control.shards.configure(config.shards.map(({ name }) => name)).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== "conflict") throw error;
    const { message } = error;
    if (config.replicaAddress === undefined && new RegExp(`\\b${workerShard("\\d+")}\\b`).test(message)) {
      throw new ConfigError(`HEDDLE_WORKERS: ${message}. Projects may be in it: set it to 2 or more again.`);
    }
    throw new ConfigError(`HEDDLE_SHARDS: ${message}. Projects may be in it: name it again.`);
  });
  const memory = openWorkingMemory(config.limits);
  return { config, apiKey, log, observability, losses, control, memory, beforeListening };
}
