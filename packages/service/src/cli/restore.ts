import { constants, copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathExists } from "@heddle/durable-files";
import { restoreTables } from "@heddle/trace-store";
import { verifyChecksums } from "../operations/backup/checksums.js";
import { copyFiles, syncTree } from "../operations/backup/copy-files.js";
import { engineBackups, reachEngine, tracesIn } from "../operations/backup/engine-access.js";
import { readManifest } from "../operations/backup/manifest.js";
import { controlPlaneFile, printExternalParts, filesDirectory, mustBeEmpty } from "../operations/backup/locations.js";
import { ConfigError } from "../config/config-error.js";
import { readConfig } from "../config/config.js";
import type { Config } from "../config/config.js";
import { createDirectory, keyFile, restoreMark } from "../operations/data-directory.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle restore FROM

Fills an empty data directory (HEDDLE_DATA_DIR) from a backup, after checking that no file of it
has changed since it was written. Start the service afterwards.`;

export const command: Command = {
  usage: () => usage,
  async run([source, ...more], { print }) {
    if (source === undefined || source.startsWith("-") || more.length > 0) {
      throw new UsageError("one directory is needed", usage);
    }
    await restore(resolve(source), readConfig(), print);
  },
};

/** The service refuses to start on a directory whose restore did not finish. */
async function restore(from: string, config: Config, print: (line: string) => void): Promise<void> {
  const { parts, made_at, heddle } = readManifest(from);
  mustBeEmpty(config.dataDir, "the data directory");
  const controlPlane = controlPlaneFile(config);
  if (controlPlane !== undefined && pathExists(controlPlane)) throw new ConfigError(`${controlPlane} exists already.`);
  print(`backup of ${made_at}, made by Heddle ${heddle}`);
  print(`checked: ${await verifyChecksums(from)} files`);
  createDirectory(config.dataDir);
  const mark = join(config.dataDir, restoreMark);
  // On the disk before anything else: a directory with half of a backup must not pass for a whole one.
  writeFileSync(mark, "", { flush: true });
  await syncTree(config.dataDir);

  if (parts.includes("traces") && config.clickhouseUrl === undefined) {
    let tables = 0;
    for (let position = 1; pathExists(tracesIn(from, position)); position++) {
      tables += await restoreTraces(config, tracesIn(from, position), position);
    }
    print(`traces: ${tables} tables`);
  }
  const files = filesDirectory(config);
  if (parts.includes("files") && files !== undefined) {
    print(`files: ${await copyFiles(join(from, "files", "sha256"), join(files, "sha256"))}`);
    await syncTree(files);
  }
  if (parts.includes("control-plane") && controlPlane !== undefined) {
    mkdirSync(dirname(controlPlane), { recursive: true, mode: 0o700 });
    copyFileSync(join(from, "control.db"), controlPlane);
    print("keys, users, projects, annotation queues, models, jobs and artifacts");
  }
  if (pathExists(join(from, keyFile))) copyFileSync(join(from, keyFile), join(config.dataDir, keyFile));
  printExternalParts(config, print);
  await syncTree(config.dataDir);
  rmSync(mark);
  print(`done: start the service with HEDDLE_DATA_DIR=${config.dataDir}`);
}

async function restoreTraces(config: Config, from: string, position: number): Promise<number> {
  const engine = await reachEngine(config, { restoring: true, position });
  const copy = join(engineBackups(config, position), "restore");
  try {
    cpSync(from, copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
    return await restoreTables(engine.run, "restore", readdirSync(from).toSorted());
  } finally {
    rmSync(copy, { recursive: true, force: true });
    await engine.close();
  }
}
