import { randomBytes } from "node:crypto";
import { accessSync, constants, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMissing, pathExists } from "@heddle/durable-files";
import Database from "libsql";
import { ConfigError } from "../config/config-error.js";

export interface DataDirectory {
  path: string;
  /** Releases the directory for the next process; the end of the process, also a crash, does so too. */
  release(): void;
}

/** Where the embedded engines are; all besides the first are of services with HEDDLE_WORKERS. */
export const engineDirectory = (dataDir: string, position = 1): string =>
  join(dataDir, position === 1 ? "clickhouse" : `clickhouse-${position}`);

/** Name of the file that exists while `heddle restore` fills the directory, and after one that did not finish. */
export const restoreMark = "restoring";

/**
 * Creates the directory if needed and locks it for this process.
 *
 * The lock is an exclusive SQLite transaction on a file of its own: the kernel drops it with the process, so a crash
 * never leaves a stale lock behind. Throws {@link ConfigError} when another process holds it or nothing can be written,
 * and, unless `restoring`, when a restore into it did not finish.
 */
export function openDataDirectory(path: string, { restoring = false } = {}): DataDirectory {
  createDirectory(path);
  requireDataDirectory(path);
  if (!restoring && pathExists(join(path, restoreMark))) {
    throw new ConfigError(`a restore into ${path} did not finish. Empty the directory and restore again.`);
  }
  const holder = join(path, "heddle.pid");
  let lock: Database.Database | undefined;
  try {
    lock = new Database(join(path, "lock"), { timeout: 1000 });
    lock.exec("PRAGMA journal_mode = DELETE");
    lock.exec("BEGIN EXCLUSIVE");
    writeFileSync(holder, String(process.pid));
  } catch (error) {
    lock?.close();
    if (/locked|busy/i.test(reason(error))) {
      throw new ConfigError(
        `the data directory ${path} is in use by process ${readText(holder) ?? "?"}. Stop that one, or set HEDDLE_DATA_DIR.`,
      );
    }
    throw new ConfigError(`cannot write in the data directory ${path}: ${reason(error)}. Set HEDDLE_DATA_DIR.`);
  }
  return { path, release: () => lock.close() };
}

/** Creates the data directory unless it exists. Throws {@link ConfigError} when that is not possible. */
export function createDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ConfigError(`cannot create the data directory ${path}: ${reason(error)}. Set HEDDLE_DATA_DIR.`);
  }
}

/** Throws {@link ConfigError} unless the data directory exists and this process may read and write in it. */
export function requireDataDirectory(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isMissing(error)) {
      throw new ConfigError(`there is no data directory ${path}. Set HEDDLE_DATA_DIR to that of the service.`);
    }
    throw new ConfigError(
      `cannot write in the data directory ${path}: ${reason(error)}${otherOwner(path)}. Set HEDDLE_DATA_DIR.`,
    );
  }
}

/** The usual reason why a volume cannot be written: it was created by another user. */
function otherOwner(path: string): string {
  try {
    const owner = statSync(path).uid;
    const user = process.getuid?.();
    return owner === user ? "" : ` (it belongs to user ${owner}, this is user ${user})`;
  } catch {
    return "";
  }
}

/** Name of the file with the owner key that was made at the first start. */
export const keyFile = "api-key";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * The owner key of this directory: the configured one, else the one kept in `api-key`, made at the first start.
 * 40 characters of `[A-Za-z0-9]`, drawn without modulo bias; the file is readable by its owner only.
 */
export function ownerKey(directory: DataDirectory, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  const kept = keptKey(directory.path);
  if (kept) return kept;
  let key = "";
  while (key.length < 40) {
    for (const byte of randomBytes(64)) {
      if (byte < 248 && key.length < 40) key += alphabet[byte % 62];
    }
  }
  // Flushed: the key has been shown to the user and must survive a power loss.
  writeFileSync(join(directory.path, keyFile), `${key}\n`, { mode: 0o600, flush: true });
  return key;
}

/** The key that a directory keeps, if it does. One that cannot be read is not replaced: clients have it. */
export function keptKey(path: string): string | undefined {
  const file = join(path, keyFile);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new ConfigError(
      `the owner key cannot be read: ${reason(error)}. Make ${file} readable, or set HEDDLE_API_KEY.`,
    );
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
