import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { BlobStore } from "@heddle/blob-store";
import type { Config } from "../config/config.js";
import { trainingDataBytes } from "../limits/training-data-limit.js";
import { packTrajectories } from "./pack-trajectories.js";
import type { RlRequestHeader } from "./pack-trajectories.js";

/** The data of an RL job, and the texts of its trajectories where they are kept. */
export interface StoredTrajectories {
  dataBlob: string;
  rollouts?: { blob: string; bytes: number };
}

export type TrajectoryConfig = Pick<Config, "limits" | "keepRolloutsBytes">;

const bufferBytes = 262_144;

/**
 * Validates the body of an RL job as it arrives and stores its trajectories: packed for the job, and, unless none are kept,
 * as they were sent. Throws as `packTrajectories` does.
 */
export async function storeTrajectories(
  { blobs, config }: { blobs: BlobStore; config: TrajectoryConfig },
  stream: AsyncIterable<Uint8Array>,
  header: (header: RlRequestHeader) => Promise<void>,
): Promise<StoredTrajectories> {
  const most = trainingDataBytes(config.limits);
  if (config.keepRolloutsBytes === 0) {
    return { dataBlob: (await blobs.put(packTrajectories(stream, header, most))).key };
  }
  const texts = new PassThrough({ highWaterMark: bufferBytes });
  const stored = blobs.put(texts);
  // Awaited below, unless the body is refused first.
  stored.catch(() => undefined);
  const keepText = async (text: Uint8Array): Promise<void> => {
    if (!texts.write(text)) await Promise.race([once(texts, "drain"), stored]);
  };
  try {
    const { key } = await blobs.put(packTrajectories(stream, header, most, keepText));
    texts.end();
    const { key: blob, size: bytes } = await stored;
    return { dataBlob: key, rollouts: { blob, bytes } };
  } catch (error) {
    texts.destroy(error instanceof Error ? error : new Error("the body is refused", { cause: error }));
    await stored.catch(() => undefined);
    throw error;
  }
}
