import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathExists } from "@heddle/durable-files";
import { backupTables } from "@heddle/trace-store";
import Database from "libsql";
import { writeChecksums } from "../operations/backup/checksums.js";
import { copyFiles, moveDirectory, syncTree } from "../operations/backup/copy-files.js";
import { engineBackups, engineCount, reachEngine, tracesIn } from "../operations/backup/engine-access.js";
import { writeManifest } from "../operations/backup/manifest.js";
import type { Part } from "../operations/backup/manifest.js";
import { controlPlaneFile, printExternalParts, filesDirectory, mustBeEmpty } from "../operations/backup/locations.js";
import { readConfig } from "../config/config.js";
import type { Config } from "../config/config.js";
import { keyFile, requireDataDirectory } from "../operations/data-directory.js";
import { version } from "../boot/version.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle backup TO

Copies everything in the data directory to the directory TO, which must not exist or be empty. Works while
the service runs and does not interrupt it: everything acknowledged before the backup began is in it.`;

export const command: Command = {
  usage: () => usage,
  async run([target, ...more], { print }) {
    if (target === undefined || target.startsWith("-") || more.length > 0) {
      throw new UsageError("one directory is needed", usage);
    }
    await backup(resolve(target), readConfig(), print);
  },
};

/** A part that refers to another is copied before it, so that every reference has its target. */
async function backup(to: string, config: Config, print: (line: string) => void): Promise<void> {
  requireDataDirectory(config.dataDir);
  mustBeEmpty(to, "the backup directory");
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const parts: Part[] = [];

  if (config.clickhouseUrl === undefined) {
    let tables = 0;
    for (let position = 1; position <= engineCount(config); position++)
      tables += await backupTraces(config, to, position);
    print(`traces: ${tables} tables`);
    if (tables > 0) parts.push("traces");
  }
  const controlPlane = controlPlaneFile(config);
  if (controlPlane !== undefined) {
    copyDatabase(controlPlane, join(to, "control.db"));
    print("keys, users, projects, annotation queues, models, jobs and artifacts");
    parts.push("control-plane");
  }
  const files = filesDirectory(config);
  if (files !== undefined) {
    print(`files: ${await copyFiles(join(files, "sha256"), join(to, "files", "sha256"))}`);
    parts.push("files");
  }
  const key = join(config.dataDir, keyFile);
  if (pathExists(key)) copyFileSync(key, join(to, keyFile));
  printExternalParts(config, print);
  await writeChecksums(to);
  await syncTree(to);
  await writeManifest(to, { format: 1, heddle: version, made_at: new Date().toISOString(), parts });
  await syncTree(to);
  print(`done: ${to}`);
}

async function backupTraces(config: Config, to: string, position: number): Promise<number> {
  const engine = await reachEngine(config, { position });
  removeAbandoned(engineBackups(config, position));
  const name = `heddle-${process.pid}-${Date.now()}`;
  const backupPath = join(engineBackups(config, position), name);
  try {
    const tables = await backupTables(engine.run, name);
    if (tables > 0) await moveDirectory(backupPath, tracesIn(to, position));
    return tables;
  } finally {
    rmSync(backupPath, { recursive: true, force: true });
    await engine.close();
  }
}

const dayMs = 24 * 3_600_000;

/** Removes what killed backups have left. A backup younger than a day may still be running. */
function removeAbandoned(directory: string): void {
  if (!pathExists(directory)) return;
  for (const name of readdirSync(directory)) {
    const began = Number(/^heddle-\d+-(\d+)$/.exec(name)?.[1] ?? Infinity);
    if (Date.now() - began > dayMs) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

/** One consistent copy, also while others write. */
function copyDatabase(from: string, to: string): void {
  const database = new Database(from, { timeout: 5000 });
  try {
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}
