import { randomBytes } from "node:crypto";
import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { WrittenFile } from "@heddle/durable-files";
import { isJsonObject } from "@heddle/exact-json";
import {
  digestFile,
  ifExists,
  makeDurableDirectory,
  readJsonFile,
  readStored,
  syncDirectory,
  syncFile,
  withFileErrors,
  writeDurableFile,
} from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import { checkpointDigest, weightFiles } from "@heddle/training";
import type { WeightsRef } from "@heddle/training";

/** A training state that a server keeps, as a checkpoint directory refers to it. */
export interface RemoteState {
  /** Digest of the server's origin: checkpoints are published, and addresses are not. */
  server: string;
  /** `tinker://` address of the state on that server. */
  path: string;
  rank: number;
}

/** Size and SHA-256 of the files of a checkpoint, by name. */
export type CheckpointFiles = Map<string, WrittenFile>;

export interface CheckpointDescription {
  baseModel: string;
  /** Identity of the base model. */
  baseDigest: string;
  /** Optimizer steps so far. */
  steps: number;
  seed: number;
  remote?: RemoteState;
}

const stateFile = "training_state.json";
const format = 2;

/**
 * Creates a checkpoint directory: `fill` writes files and returns their names, then `training_state.json` with their
 * digests is added. The write is atomic: the directory appears with all files synced, or not at all.
 *
 * @returns the files by name.
 * @throws HeddleError `conflict` when the directory exists.
 */
export async function writeCheckpointDirectory(
  directory: string,
  description: CheckpointDescription,
  fill: (partial: string) => Promise<string[]>,
): Promise<CheckpointFiles> {
  if (!isAbsolute(directory)) {
    throw new HeddleError("invalid", "a checkpoint's directory must be absolute", { loc: ["directory"] });
  }
  const parent = dirname(directory);
  const partial = join(parent, `.${randomBytes(6).toString("hex")}.${process.pid}.partial`);
  const files: CheckpointFiles = new Map();
  try {
    await withFileErrors("the checkpoint could not be written", async () => {
      await requireAbsent(directory);
      await makeDurableDirectory(parent);
      await mkdir(partial);
      for (const name of await fill(partial)) {
        await syncFile(join(partial, name));
        files.set(name, await digestFile(join(partial, name)));
      }
      await writeDurableFile(join(partial, stateFile), stateJson(description, files));
      await syncDirectory(partial);
      await requireAbsent(directory);
      await rename(partial, directory);
      await syncDirectory(parent);
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return files;
}

async function requireAbsent(directory: string): Promise<void> {
  if (await ifExists(lstat(directory))) {
    throw new HeddleError("conflict", "the checkpoint's directory already exists", { loc: ["directory"] });
  }
}

/** The format of every engine's checkpoints, with `remote` in addition. */
function stateJson(
  { baseModel, baseDigest, steps, seed, remote }: CheckpointDescription,
  files: CheckpointFiles,
): string {
  const state = {
    format,
    base_model: baseModel,
    base_digest: baseDigest,
    training: "adapter",
    steps,
    seed,
    files: Object.fromEntries(files),
    ...(remote && { remote }),
  };
  return `${JSON.stringify(state, null, 2)}\n`;
}

/**
 * Reads the description of a checkpoint directory.
 *
 * @throws HeddleError `not_found` when the directory is not a checkpoint, `corrupt` when its description cannot be read.
 */
export async function readCheckpointDirectory(directory: string): Promise<CheckpointDescription> {
  const state = await readStored(() => readJsonFile(directory, stateFile));
  const { base_model: baseModel, base_digest: baseDigest, steps, seed, remote } = state;
  const isComplete = typeof baseModel === "string" && typeof baseDigest === "string" && typeof steps === "number";
  if (state["format"] !== format || !isComplete) {
    throw new HeddleError("corrupt", `${stateFile} of the checkpoint cannot be read`, { details: { file: stateFile } });
  }
  return { baseModel, baseDigest, steps, seed: typeof seed === "number" ? seed : 0, remote: remoteState(remote) };
}

/**
 * Returns the identity of the adapter in a directory, from the contents of its files and the recorded base model.
 *
 * @throws HeddleError `unsupported` when the directory has no adapter.
 */
export async function adapterDigest(directory: string): Promise<string> {
  const { baseDigest } = await readCheckpointDirectory(directory);
  const files: CheckpointFiles = new Map();
  for (const name of weightFiles.adapter) {
    const path = join(directory, name);
    if (!(await ifExists(lstat(path)))) {
      throw new HeddleError("unsupported", `the checkpoint is not an adapter: it has no ${name}`, {
        loc: ["checkpoint"],
      });
    }
    files.set(name, await withFileErrors("the adapter could not be read", () => digestFile(path)));
  }
  return checkpointDigest({ training: "adapter", files }, baseDigest);
}

/** Throws `conflict` if a reference names other weights than were found. */
export function requireDigest({ digest }: WeightsRef, found: string): void {
  if (digest === undefined || digest === found) return;
  throw new HeddleError("conflict", `the weights have the digest ${found}, not ${digest}: they were replaced`, {
    loc: ["digest"],
  });
}

function remoteState(value: unknown): RemoteState | undefined {
  if (!isJsonObject(value)) return undefined;
  const { server, path, rank } = value;
  const isComplete = typeof server === "string" && typeof path === "string" && typeof rank === "number";
  return isComplete ? { server, path, rank } : undefined;
}
