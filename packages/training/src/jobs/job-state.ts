import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import type { DivergenceState } from "./divergence.js";
import type { ValidationState } from "./validation.js";
import { validationStateOf } from "./validation.js";
import { ifExists, readJsonFile, readStored, syncDirectory, writeDurableFile } from "@heddle/durable-files";

/** Progress of a job, stored so that it can resume after its process has ended. */
export interface JobState {
  /** Whether an earlier run of the same job has left its state. */
  readonly resumed: boolean;
  readonly completedSteps: number;
  /** Checkpoint after `completedSteps`. Absent: the weights that the job starts from. */
  readonly checkpoint?: string;
  /** The checkpoint that `advance` was last told to keep. */
  readonly kept?: string;
  /** Of the steps before the checkpoint. */
  readonly divergence?: DivergenceState;
  /** Of the steps before the checkpoint. */
  readonly validation?: ValidationState | undefined;
  /** How the training of an earlier run ended, if it did. */
  readonly outcome?: TrainingOutcome;
  /** Returns the arrays saved under a name by this or an earlier run. */
  readArrays(name: string): Promise<Float64Array[] | undefined>;
  saveArrays(name: string, arrays: Float64Array[]): Promise<void>;
  /**
   * Saves a checkpoint with `save` and makes it the state after `completedSteps`. Calls `discard` before it removes the
   * previous one, unless that is kept; one that is kept is removed when another one is.
   */
  advance(completedSteps: number, use: CheckpointUse): Promise<void>;
  /** Saves how the training ended, before its result is written. */
  conclude(outcome: TrainingOutcome): Promise<void>;
  /** Removes the state; called when the job has ended. */
  clear(): Promise<void>;
}

/** How the steps of a job ended. */
export interface TrainingOutcome {
  steps: number;
  validation?: ValidationState | undefined;
}

interface CheckpointUse {
  /** Whether the checkpoint stays until another one is kept. */
  keeps: boolean;
  divergence: DivergenceState;
  validation: ValidationState | undefined;
  save: (directory: string) => Promise<unknown>;
  discard: (directory: string) => Promise<void>;
}

interface Progress {
  version: 1;
  fingerprint: string;
  completedSteps: number;
  /** File name in the directory. */
  checkpoint: string | null;
  /** File name of a checkpoint that further ones do not replace. Absent: none is kept. */
  kept?: string;
  /** Absent in the state of earlier versions. */
  divergence?: DivergenceState;
  validation?: ValidationState | undefined;
  outcome?: TrainingOutcome;
}

const progressFile = "job.json";

/**
 * Opens the state of the job with this fingerprint in `directory`, which is created if it does not exist. If
 * `directory` is undefined, the state is kept in memory only. Throws `invalid` if the directory contains the state of
 * another job.
 */
export async function openJobState(directory: string | undefined, fingerprint: string): Promise<JobState> {
  if (directory === undefined) return inMemoryState();
  await mkdir(directory, { recursive: true });
  const found = await readProgress(directory, fingerprint);
  let progress: Progress = found ?? { version: 1, fingerprint, completedSteps: 0, checkpoint: null };
  if (!found) await writeProgress(directory, progress);
  await removeLeftovers(directory, progress);

  return {
    resumed: found !== undefined,
    get completedSteps() {
      return progress.completedSteps;
    },
    get checkpoint() {
      return progress.checkpoint === null ? undefined : join(directory, progress.checkpoint);
    },
    get kept() {
      return progress.kept === undefined ? undefined : join(directory, progress.kept);
    },
    get divergence() {
      return progress.divergence;
    },
    get validation() {
      return progress.validation;
    },
    get outcome() {
      return progress.outcome;
    },
    async readArrays(name) {
      const bytes = await ifExists(readFile(join(directory, `${name}.numbers`)));
      return bytes && decodeArrays(bytes);
    },
    async saveArrays(name, arrays) {
      await replaceFile(directory, `${name}.numbers`, encodeArrays(arrays));
    },
    async advance(completedSteps, { save, discard, keeps, divergence, validation }) {
      const checkpoint = `step-${completedSteps}`;
      await save(join(directory, checkpoint));
      const before = new Set([progress.checkpoint, progress.kept]);
      progress = {
        ...progress,
        completedSteps,
        checkpoint,
        divergence,
        validation,
        ...(keeps && { kept: checkpoint }),
      };
      await writeProgress(directory, progress);
      for (const name of before) {
        if (name === null || name === undefined || name === progress.kept) continue;
        await discard(join(directory, name));
        await rm(join(directory, name), { recursive: true, force: true });
      }
    },
    async conclude(outcome) {
      progress = { ...progress, outcome };
      await writeProgress(directory, progress);
    },
    async clear() {
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Returns a hash of everything that affects the bits of a job's result. Parts are JSON values or bytes. */
export function fingerprintOf(parts: unknown[]): string {
  const hash = createHash("sha256");
  for (const temporaryPath of parts) {
    const bytes = ArrayBuffer.isView(temporaryPath)
      ? new Uint8Array(temporaryPath.buffer, temporaryPath.byteOffset, temporaryPath.byteLength)
      : new TextEncoder().encode(JSON.stringify(temporaryPath) ?? "undefined");
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex");
}

function inMemoryState(): JobState {
  const kept = new Map<string, Float64Array[]>();
  return {
    resumed: false,
    completedSteps: 0,
    readArrays: async (name) => kept.get(name),
    saveArrays: async (name, arrays) => void kept.set(name, arrays),
    advance: async () => undefined,
    conclude: async () => undefined,
    clear: async () => kept.clear(),
  };
}

async function readProgress(directory: string, fingerprint: string): Promise<Progress | undefined> {
  const entries = await readdir(directory);
  if (!entries.includes(progressFile)) {
    if (entries.every((name) => name.endsWith(temporarySuffix))) return undefined;
    throw new HeddleError("conflict", "The work directory is not empty and contains no job state.", {
      loc: ["workDirectory"],
    });
  }
  const { version, completedSteps, checkpoint, kept, ...found } = await readStored(() =>
    readJsonFile(directory, progressFile),
  );
  if (version !== 1 || found["fingerprint"] !== fingerprint) {
    throw new HeddleError("conflict", "The work directory belongs to another job.", { loc: ["workDirectory"] });
  }
  if (typeof completedSteps !== "number" || !(checkpoint === null || isCheckpointName(checkpoint))) {
    throw new HeddleError("corrupt", "The job state in the work directory is corrupt.", {
      details: { file: progressFile },
    });
  }
  const { best, inRow } = (found["divergence"] ?? {}) as { best?: unknown; inRow?: unknown };
  const isKnown = (best === null || typeof best === "number") && typeof inRow === "number";
  const validation = validationStateOf(found["validation"]);
  const outcome = outcomeOf(found["outcome"]);
  return {
    version: 1,
    fingerprint,
    completedSteps,
    checkpoint,
    ...(isCheckpointName(kept) && { kept }),
    ...(isKnown && { divergence: { best, inRow } }),
    ...(validation && { validation }),
    ...(outcome && { outcome }),
  };
}

function outcomeOf(stored: unknown): TrainingOutcome | undefined {
  const { steps, validation } = (stored ?? {}) as Record<string, unknown>;
  return typeof steps === "number" ? { steps, validation: validationStateOf(validation) } : undefined;
}

function isCheckpointName(name: unknown): name is string {
  return typeof name === "string" && /^step-\d+$/u.test(name);
}

async function writeProgress(directory: string, progress: Progress): Promise<void> {
  await replaceFile(directory, progressFile, `${JSON.stringify(progress)}\n`);
}

/** Removes files of a run that was interrupted before it recorded them. */
async function removeLeftovers(directory: string, progress: Progress): Promise<void> {
  for (const name of await readdir(directory)) {
    const isCurrent =
      name === progressFile || name === progress.checkpoint || name === progress.kept || name.endsWith(".numbers");
    if (!isCurrent) await rm(join(directory, name), { recursive: true, force: true });
  }
}

const temporarySuffix = ".part";

async function replaceFile(directory: string, name: string, content: string | Uint8Array): Promise<void> {
  const temporaryPath = join(directory, `${name}${temporarySuffix}`);
  await rm(temporaryPath, { force: true });
  await writeDurableFile(temporaryPath, content);
  await rename(temporaryPath, join(directory, name));
  await syncDirectory(directory);
}

/**
 * Format: SHA-256 of the rest, then as float64 in host byte order the number of arrays, their lengths, and their
 * values.
 */
function encodeArrays(arrays: Float64Array[]): Uint8Array {
  const values = new Float64Array(1 + arrays.length + arrays.reduce((sum, { length }) => sum + length, 0));
  values[0] = arrays.length;
  let at = 1 + arrays.length;
  for (const [index, array] of arrays.entries()) {
    values[1 + index] = array.length;
    values.set(array, at);
    at += array.length;
  }
  const body = new Uint8Array(values.buffer);
  return Buffer.concat([createHash("sha256").update(body).digest(), body]);
}

/** Returns undefined for a corrupt file, whose contents are computed again. */
function decodeArrays(bytes: Uint8Array): Float64Array[] | undefined {
  const body = new Uint8Array(bytes.subarray(32));
  const isIntact = createHash("sha256").update(body).digest().equals(bytes.subarray(0, 32));
  if (!isIntact || body.length < 8) return undefined;
  const values = new Float64Array(body.buffer);
  let at = 1 + (values[0] ?? 0);
  return Array.from(values.subarray(1, at), (length) => values.slice(at, (at += length)));
}
