import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pathExists } from "@heddle/durable-files";
import { ConfigError } from "../../config/config-error.js";
import { controlPlaneUrl } from "../../config/config.js";
import type { Config } from "../../config/config.js";

/** The SQLite file of the control plane; undefined when a server keeps it. */
export function controlPlaneFile(config: Config): string | undefined {
  const url = controlPlaneUrl(config);
  return url.startsWith("file:") ? fileURLToPath(url) : undefined;
}

/** The directory of the files; undefined when they are on S3. */
export const filesDirectory = ({ blobsUrl }: Config): string | undefined =>
  blobsUrl.startsWith("s3://") ? undefined : blobsUrl;

/** Throws a {@link ConfigError} unless the directory is empty or missing. */
export function mustBeEmpty(path: string, what: string): void {
  if (pathExists(path) && readdirSync(path).length > 0) throw new ConfigError(`${what} ${path} is not empty.`);
}

/** Prints which parts of the installation are not in the backup, and how to back them up. */
export function printExternalParts(config: Config, print: (line: string) => void): void {
  if (config.clickhouseUrl !== undefined) print("traces: on the ClickHouse server (its own BACKUP DATABASE trace)");
  if (filesDirectory(config) === undefined) print("files: on S3 (versioning or replication of the bucket)");
  if (controlPlaneFile(config) === undefined)
    print("keys, users, projects, annotation queues, models, jobs and artifacts: on the Postgres server (pg_dump)");
}
