import { FairShare } from "@heddle/concurrency";
import type { Checkpoint, TrainingModel } from "@heddle/control-plane";
import { HeddleError, mapErrors } from "@heddle/errors";
import type { ExportedModel, ModelExport, TrainingEngine } from "@heddle/training";
import { currentSharer } from "../limits/request-scope.js";
import type { CheckpointDirectories } from "./checkpoint-directories.js";

const perKey = 2;
const perEntity = 4;
/** Exports of one process: each has a thread, and an adapter and a tensor in memory. */
const inAll = 4;

const exports = new FairShare({
  capacity: inAll,
  perKey,
  perEntity,
  timeoutMs: 1000,
  messages: {
    key: `This key exports ${perKey} checkpoints, which is its share`,
    entity: `This entity exports ${perEntity} checkpoints, which is its share`,
    all: `${inAll} checkpoints are being exported, which is all that this service does at a time`,
  },
});

/**
 * Begins to write a checkpoint, merged into its base model. Throws `unprocessable` for one that the layout cannot have, and
 * `rate_limited` or `busy` when there are too many exports.
 */
export async function exportCheckpoint(
  { training, checkpointDirectories }: { training: TrainingEngine; checkpointDirectories: CheckpointDirectories },
  { base_model: baseModel }: TrainingModel,
  checkpoint: Checkpoint,
  { signal, ...wanted }: ModelExport & { signal: AbortSignal },
): Promise<ExportedModel> {
  const release = await exports.acquire(currentSharer(), 1, signal);
  try {
    const directory =
      checkpoint.weights_digest === null ? undefined : await checkpointDirectories.directoryOf(checkpoint);
    const weights = { baseModel, ...(directory !== undefined && { checkpoint: directory }) };
    const archive = await mapErrors(asUnfit, async () => {
      if (training.exportModel) return await training.exportModel(weights, wanted, signal);
      throw new HeddleError("unsupported", "the engine of this service does not export models");
    });
    // The stream of a client that has left is never read.
    signal.addEventListener("abort", release, { once: true });
    return { bytes: archive.bytes, parts: releasing(archive.parts, release) };
  } catch (error) {
    release();
    throw error;
  }
}

function releasing(parts: ExportedModel["parts"], release: () => void): ExportedModel["parts"] {
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    release();
    await parts.return?.();
    return { value: undefined, done: true };
  };
  const wrapped: ExportedModel["parts"] = {
    [Symbol.asyncIterator]: () => wrapped,
    async next() {
      try {
        const result = await parts.next();
        return result.done ? await end() : result;
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
  };
  return wrapped;
}

function asUnfit(error: HeddleError): HeddleError {
  const isOfModel = error.code === "unsupported" || error.code === "invalid";
  return isOfModel ? error.with({ code: "unprocessable", loc: ["format"], details: undefined }) : error;
}
