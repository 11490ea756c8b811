import type { ArtifactFile, ArtifactVersion, ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { readTrainingRows } from "@heddle/training";
import type { TrainingRow } from "@heddle/training";
import { readContent } from "../artifacts/read-content.js";
import { filesOf } from "../artifacts/write-directory.js";
import { JsonMemory } from "../limits/json-memory.js";
import { TrainingDataLimit, trainingDataBytes } from "../limits/training-data-limit.js";
import type { BlobStore } from "@heddle/blob-store";
import type { Config } from "../config/config.js";

/** The most bytes of a file of training data. */
const maxFileBytes = 256 * 1024 * 1024;
const maxMetadataBytes = 1024 * 1024;
/** What rows are for. */
export type DataUse = "training" | "validation" | "preferences";
const trainingFiles = ["trajectories.jsonl", "train.jsonl"];
/** One artifact can have the rows for several uses. */
const preferredFiles: Readonly<Record<DataUse, readonly string[]>> = {
  training: trainingFiles,
  validation: ["validation.jsonl", ...trainingFiles],
  preferences: ["preferences.jsonl", "train.jsonl"],
};

/** Returns the file of an artifact that has the rows. Throws `invalid` if none or more than one can be meant. */
export async function trainingFileOf(
  services: { control: ControlPlane },
  version: ArtifactVersion,
  use: DataUse = "training",
): Promise<ArtifactFile> {
  const preferred = preferredFiles[use];
  const candidates: ArtifactFile[] = [];
  for await (const file of filesOf(services, version)) if (file.path.endsWith(".jsonl")) candidates.push(file);
  const named = preferred
    .map((path) => candidates.find((file) => file.path === path))
    .find((file) => file !== undefined);
  const [only, second] = candidates;
  const file = named ?? (second === undefined ? only : undefined);
  if (file === undefined) {
    const found =
      only === undefined ? "no *.jsonl file" : `several *.jsonl files, none of them ${preferred.join(" or ")}`;
    throw new HeddleError("invalid", `the artifact has ${found}`);
  }
  if (file.size_bytes > maxFileBytes) {
    throw new HeddleError("invalid", `${file.path} has ${file.size_bytes} bytes; at most ${maxFileBytes} are read`);
  }
  return file;
}

/**
 * Reads the rows of an artifact. Throws `invalid` with the first line that is wrong, and if their number is not the
 * `num_trajectories` of the metadata.
 */
export async function readTrainingData(
  services: { control: ControlPlane; blobs: BlobStore; config: Config },
  version: ArtifactVersion,
  use: DataUse = "training",
): Promise<TrainingRow[]> {
  const file = await trainingFileOf(services, version, use);
  const { stream } = await readContent(services, file, { verify: true });
  const rows = await readTrainingRows(limited(stream, trainingDataBytes(services.config.limits)), {
    bytes: maxFileBytes,
    form: use === "preferences" ? "preference" : "conversation",
  });
  for (const [source, metadata] of [
    ["the artifact's metadata", version.metadata],
    ["metadata.json", await metadataFile(services, version)],
  ] as const) {
    const stated = file.path === "validation.jsonl" ? undefined : statedRows(metadata);
    if (stated === undefined || stated === rows.length) continue;
    throw new HeddleError(
      "invalid",
      `${file.path} has ${rows.length} rows, but num_trajectories of ${source} is ${stated}`,
    );
  }
  return rows;
}

/** Throws `too_large` for JSON that takes more than `most` bytes of memory when it is parsed. */
async function* limited(stream: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  const memory = new JsonMemory();
  const data = new TrainingDataLimit(most);
  for await (const chunk of stream) {
    const before = memory.bytes;
    memory.push(chunk);
    data.add(memory.bytes - before);
    yield chunk;
  }
}

async function metadataFile(
  services: { control: ControlPlane; blobs: BlobStore },
  { id }: ArtifactVersion,
): Promise<string | undefined> {
  const file = await services.control.artifacts.getFile(id, "metadata.json");
  if (file === undefined || file.size_bytes > maxMetadataBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await readContent(services, file)).stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The stated number of rows; undefined for anything else, which other programs may have put there. */
function statedRows(metadata: string | undefined): number | undefined {
  if (metadata === undefined) return undefined;
  try {
    const { num_trajectories: stated } = JSON.parse(metadata) as { num_trajectories?: unknown };
    return typeof stated === "number" ? stated : undefined;
  } catch {
    return undefined;
  }
}
