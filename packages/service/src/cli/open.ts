import { isIPv6 } from "node:net";
import { openControlPlane } from "@heddle/control-plane";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import type { Config } from "../config/config.js";
import { keptKey, requireDataDirectory } from "../operations/data-directory.js";
import { logInLink, ownerLogInCode } from "../sessions/owner-log-in.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle open

Prints a link by which the owner logs in to the console of the running service. It is valid once, for ten minutes.`;

export const command: Command = {
  usage: () => usage,
  run: ([unexpected], { print }) => {
    if (unexpected !== undefined) throw new UsageError(`open takes no argument "${unexpected}"`, usage);
    return printLogInLink(readConfig(), print);
  },
};

/** `heddle open` with these settings. */
export async function printLogInLink(config: Config, print: (line: string) => void): Promise<void> {
  if (!config.console) throw new ConfigError("The service has no console, because HEDDLE_CONSOLE is off.");
  const url = addressOf(config);
  const apiKey = ownerKeyOf(config);
  const owner = { secret: apiKey, entity: config.defaultEntity };
  const control = await openControlPlane({ url: controlPlaneUrl(config), owner });
  try {
    print(logInLink(url, await ownerLogInCode(control, apiKey)));
  } finally {
    await control.close();
  }
}

/** Where a browser of this machine reaches the service. */
export function addressOf({ publicUrl, host, port }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  if (port === 0)
    throw new ConfigError("HEDDLE_PORT is 0, so the port of the service is not known. Set HEDDLE_PUBLIC_URL.");
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`;
}

/** The key that the setting or the data directory has. */
export function ownerKeyOf({ apiKey, dataDir }: Config): string {
  if (apiKey !== undefined) return apiKey;
  requireDataDirectory(dataDir);
  const key = keptKey(dataDir);
  if (key === undefined)
    throw new ConfigError(`${dataDir} has no owner key, because no service has used it. Set HEDDLE_DATA_DIR.`);
  return key;
}
