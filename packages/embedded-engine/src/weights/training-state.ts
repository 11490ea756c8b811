import { isJsonObject } from "@heddle/exact-json";
import type { JsonObject } from "@heddle/exact-json";
import type { WrittenFile } from "@heddle/durable-files";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { weightFiles } from "@heddle/training";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";
import { fileDigest } from "./file-digests.js";
import { digestFile, ifExists, readJsonFile, readStored } from "@heddle/durable-files";

export const stateFile = "training_state.json";

/** What is known of a checkpoint: the contents of its `training_state.json`. */
export interface TrainingState {
  /** The model that was trained. Absent for weights that another program made. */
  base?: {
    name: string;
    /** See `weights-digest.ts`. */
    digest: string;
  };
  /** Whether all weights were trained or a low-rank adapter. */
  training: "full" | "adapter";
  /** Optimizer steps so far. */
  steps: number;
  /** The seed that the trainer was opened with. */
  seed: number;
  /** Every other file of the checkpoint. */
  files: Map<string, WrittenFile>;
}

/** Incremented when an older version could not read a checkpoint. */
const currentFormat = 2;

export function trainingStateJson(state: TrainingState): string {
  const { base, training, steps, seed } = state;
  const json = {
    format: currentFormat,
    base_model: base?.name,
    base_digest: base?.digest,
    training,
    steps,
    seed,
    files: Object.fromEntries(state.files),
  };
  return `${JSON.stringify(json, null, 2)}\n`;
}

/**
 * Reads the state of a checkpoint. A directory without one, which another program wrote in PEFT's or Hugging Face's
 * layout, has the state of weights that were not trained here.
 *
 * @throws HeddleError `not_found` when the directory has no weights, `corrupt` when its state cannot be read, `incompatible`
 *   when it has a newer format.
 */
export async function readTrainingState(directory: string): Promise<TrainingState> {
  try {
    return await readStored(async () => parseTrainingState(await readJsonFile(directory, stateFile)));
  } catch (error) {
    const foreign = error instanceof HeddleError && error.code === "not_found" && (await foreignState(directory));
    if (foreign) return foreign;
    throw error;
  }
}

async function foreignState(directory: string): Promise<TrainingState | undefined> {
  for (const training of ["adapter", "full"] as const) {
    const written = await Promise.all(weightFiles[training].map((name) => foundFile(join(directory, name))));
    const found = written.flatMap((file, at): [string, WrittenFile][] =>
      file ? [[weightFiles[training][at]!, file]] : [],
    );
    if (found.length === written.length) return { training, steps: 0, seed: 0, files: new Map(found) };
  }
  return undefined;
}

async function foundFile(path: string): Promise<WrittenFile | undefined> {
  const found = await ifExists(stat(path));
  return found?.isFile() ? { bytes: found.size, sha256: await fileDigest(path) } : undefined;
}

function parseTrainingState(json: JsonObject): TrainingState {
  const fields = configFields(json, stateFile);
  const format = fields.count("format", Number.MAX_SAFE_INTEGER);
  if (format !== currentFormat) {
    throw new HeddleError("incompatible", `${stateFile}: format is ${format}; this version reads ${currentFormat}`, {
      details: { file: stateFile, field: "format" },
    });
  }
  const training = fields.text("training");
  if (training !== "full" && training !== "adapter") {
    throw fields.invalid("training", `is ${formatValue(training)}, neither "full" nor "adapter"`);
  }
  const baseModel = fields.text("base_model");
  if (baseModel === undefined) throw fields.invalid("base_model", "is missing");
  const baseDigest = fields.text("base_digest");
  if (baseDigest === undefined) throw fields.invalid("base_digest", "is missing");
  return {
    base: { name: baseModel, digest: baseDigest },
    training,
    steps: nonNegativeInteger(fields, "steps"),
    seed: nonNegativeInteger(fields, "seed"),
    files: readFiles(fields),
  };
}

/**
 * Compares files of a checkpoint with their recorded sizes and digests.
 *
 * @throws HeddleError `corrupt`, naming the file.
 */
export async function verifyFiles(directory: string, state: TrainingState, names: Iterable<string>): Promise<void> {
  for (const name of names) {
    const written = state.files.get(name);
    const fail = (what: string) =>
      new HeddleError("corrupt", `the checkpoint is corrupt: ${name} ${what}`, { details: { file: name } });
    if (!written) throw fail(`is not listed in ${stateFile}`);
    const found = await ifExists(stat(join(directory, name)));
    if (!found?.isFile()) throw fail("is missing");
    if (found.size !== written.bytes) throw fail(`has ${found.size} bytes instead of ${written.bytes}`);
    const { sha256 } = await digestFile(join(directory, name));
    if (sha256 !== written.sha256) throw fail("has other contents than were written");
  }
}

function readFiles(fields: ConfigFields): Map<string, WrittenFile> {
  const listed = fields.value("files");
  if (!isJsonObject(listed)) throw fields.invalid("files", "is missing");
  const files = new Map<string, WrittenFile>();
  for (const [name, entry] of Object.entries(listed)) {
    const { bytes, sha256 } = isJsonObject(entry) ? entry : {};
    if (typeof bytes !== "number" || typeof sha256 !== "string" || !/^[\w.-]+$/u.test(name)) {
      throw fields.invalid("files", `has ${formatValue(entry)} for ${formatValue(name)}`);
    }
    files.set(name, { bytes, sha256 });
  }
  return files;
}

function nonNegativeInteger(fields: ConfigFields, name: string): number {
  const value = fields.value(name);
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw fields.invalid(name, `is ${formatValue(value)}, not an integer of at least 0`);
}
