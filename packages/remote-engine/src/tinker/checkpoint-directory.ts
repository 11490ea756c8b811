import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { isObject } from "../json.js";

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
 * Creates a checkpoint directory: `fill` writes its files, then `training_state.json` with their digests is added. The
 * write is atomic: the directory appears with all files synced, or not at all.
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
  const taken = () => new HeddleError("conflict", "the checkpoint's directory already exists", { loc: ["directory"] });
  if (await lstat(directory).catch(() => undefined)) throw taken();
  const parent = dirname(directory);
  await mkdir(parent, { recursive: true });
  const partial = join(parent, `.${randomBytes(6).toString("hex")}.${process.pid}.partial`);
  try {
    await mkdir(partial);
    const names = await fill(partial);
    const files: Record<string, { bytes: number; sha256: string }> = {};
    for (const name of names) files[name] = await describeFile(join(partial, name));
    await writeFile(join(partial, stateFile), `${JSON.stringify(stateJson(description, files), null, 2)}\n`);
    for (const path of [...names.map((name) => join(partial, name)), join(partial, stateFile), partial]) await sync(path);
    await rename(partial, directory).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOTEMPTY" || error.code === "EEXIST" ? taken() : error;
    });
    await sync(parent);
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    if (error instanceof HeddleError) throw error;
    throw new HeddleError("failed", "the checkpoint could not be written", { cause: error });
  }
}

/** The format that the embedded engine reads, with `remote` in addition. */
function stateJson(
  { baseModel, steps, seed, remote }: CheckpointDescription,
  files: Record<string, { bytes: number; sha256: string }>,
): Record<string, unknown> {
  return { format, base_model: baseModel, training: "adapter", steps, seed, files, ...(remote && { remote }) };
}

/**
 * Reads the description of a checkpoint directory.
 *
 * @throws HeddleError `not_found` when the directory is no checkpoint, `corrupt` when its state cannot be read.
 */
export async function readCheckpointDirectory(directory: string): Promise<CheckpointDescription> {
  const text = await readFile(join(directory, stateFile), "utf8").catch((error: unknown) => {
    throw new HeddleError("not_found", `the checkpoint has no ${stateFile}`, { loc: ["checkpoint"], cause: error });
  });
  const state = parse(text);
  const { base_model: baseModel, steps, seed, remote } = state ?? {};
  if (state?.["format"] !== format || typeof baseModel !== "string" || typeof steps !== "number") {
    throw new HeddleError("corrupt", `${stateFile} of the checkpoint cannot be read`, { loc: ["checkpoint"] });
  }
  return { baseModel, steps, seed: typeof seed === "number" ? seed : 0, remote: remoteState(remote) };
}

function remoteState(value: unknown): RemoteState | undefined {
  if (!isObject(value)) return undefined;
  const { server, path, rank } = value;
  if (typeof server !== "string" || typeof path !== "string" || typeof rank !== "number") return undefined;
  return { server, path, rank };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function describeFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return { bytes: (await stat(path)).size, sha256: hash.digest("hex") };
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
