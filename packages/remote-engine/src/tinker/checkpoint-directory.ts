import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { WrittenFile } from "@heddle/durable-files";
import {
  digestFile,
  isJsonObject,
  makeDurableDirectory,
  readJsonFile,
  readStored,
  syncDirectory,
  withFileErrors,
  writeDurableFile,
} from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";

/** A training state that a server keeps, as a checkpoint directory refers to it. */
export interface RemoteState {
  /** Origin of the server. */
  server: string;
  /** `tinker://` address of the state on that server. */
  path: string;
  rank: number;
}

export interface CheckpointDescription {
  baseModel: string;
  /** Optimizer steps so far. */
  steps: number;
  seed: number;
  remote?: RemoteState;
}

const stateFile = "training_state.json";
const format = 1;

/**
 * Creates a checkpoint directory: `fill` writes files and returns their names, then `training_state.json` with their
 * digests is added. The write is atomic: the directory appears with all files synced, or not at all.
 *
 * @throws HeddleError `conflict` when the directory exists.
 */
export async function writeCheckpointDirectory(
  directory: string,
  description: CheckpointDescription,
  fill: (partial: string) => Promise<string[]>,
): Promise<void> {
  if (!isAbsolute(directory)) {
    throw new HeddleError("invalid", "a checkpoint's directory must be absolute", { loc: ["directory"] });
  }
  const parent = dirname(directory);
  const partial = join(parent, `.${randomBytes(6).toString("hex")}.${process.pid}.partial`);
  await withFileErrors("the checkpoint could not be written", async () => {
    await requireAbsent(directory);
    await makeDurableDirectory(parent);
    await mkdir(partial);
    const files: Record<string, WrittenFile> = {};
    for (const name of await fill(partial)) {
      await syncFile(join(partial, name));
      files[name] = await digestFile(join(partial, name));
    }
    await writeDurableFile(join(partial, stateFile), stateJson(description, files));
    await syncDirectory(partial);
    await requireAbsent(directory);
    await rename(partial, directory);
    await syncDirectory(parent);
  }).finally(() => rm(partial, { recursive: true, force: true }));
}

async function requireAbsent(directory: string): Promise<void> {
  if (await lstat(directory).catch(() => undefined)) {
    throw new HeddleError("conflict", "the checkpoint's directory already exists", { loc: ["directory"] });
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  await handle.sync().finally(() => handle.close());
}

/** The format that the embedded engine reads, with `remote` in addition. */
function stateJson(
  { baseModel, steps, seed, remote }: CheckpointDescription,
  files: Record<string, WrittenFile>,
): string {
  const state = { format, base_model: baseModel, training: "adapter", steps, seed, files, ...(remote && { remote }) };
  return `${JSON.stringify(state, null, 2)}\n`;
}

/**
 * Reads the description of a checkpoint directory.
 *
 * @throws HeddleError `not_found` when the directory is no checkpoint, `corrupt` when its description cannot be read.
 */
export async function readCheckpointDirectory(directory: string): Promise<CheckpointDescription> {
  const state = await readStored(() => readJsonFile(directory, stateFile));
  const { base_model: baseModel, steps, seed, remote } = state;
  if (state["format"] !== format || typeof baseModel !== "string" || typeof steps !== "number") {
    throw new HeddleError("corrupt", `${stateFile} of the checkpoint cannot be read`, { details: { file: stateFile } });
  }
  return { baseModel, steps, seed: typeof seed === "number" ? seed : 0, remote: remoteState(remote) };
}

function remoteState(value: unknown): RemoteState | undefined {
  if (!isJsonObject(value)) return undefined;
  const { server, path, rank } = value;
  const isComplete = typeof server === "string" && typeof path === "string" && typeof rank === "number";
  return isComplete ? { server, path, rank } : undefined;
}
