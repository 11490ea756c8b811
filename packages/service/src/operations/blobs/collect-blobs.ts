import { collectGarbage } from "@heddle/blob-store";
import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";
import type { LossLog } from "../losses/loss-log.js";

type Stores = { blobs: BlobStore; control: ControlPlane; store: TraceStore; losses: LossLog };

const day = 86_400_000_000n;
/** How long content that was sent for artifacts waits for a version that names it, in microseconds. */
const uploadsKept = 7n * day;

/**
 * Deletes the blobs that nothing names any more: not a file of a trace, not a version of an artifact, not a training job.
 * Nothing is deleted while data of any store is known to be lost, because a backup of it may name the blobs. `now` is in
 * microseconds since 1970.
 */
export async function collectBlobs(
  { blobs, control, store, losses }: Stores,
  now: bigint,
): Promise<{ deleted: number; bytes: number }> {
  if (losses.list().length > 0 || (await store.brokenParts()).length > 0) return { deleted: 0, bytes: 0 };
  await control.artifacts.forgetUploads(now - uploadsKept);
  await control.artifacts.drafts.forget(now - uploadsKept);
  return await collectGarbage(blobs, {
    putBefore: now - day,
    async named(keys) {
      const digests = keys.map((key) => key.slice(key.lastIndexOf("/") + 1));
      const [files, jobs, contents] = await Promise.all([
        store.files.blobsInUse(keys),
        control.trainingJobs.blobsInUse(keys),
        control.artifacts.contentsInUse(digests),
      ]);
      const ofArtifacts = keys.filter((_, at) => contents.has(digests[at] ?? ""));
      return new Set([...files, ...jobs, ...ofArtifacts]);
    },
  });
}

const firstMs = 3_600_000;
const everyMs = 24 * 3_600_000;

/** Collects an hour after the start and then every day, for as long as `mayWrite` holds. */
export function scheduleBlobCollection(
  stores: Stores,
  { mayWrite, onError }: { mayWrite: () => boolean; onError: (error: unknown) => void },
): { stop(): Promise<void> } {
  let running = Promise.resolve();
  const collect = async () => {
    try {
      if (mayWrite()) await collectBlobs(stores, BigInt(Date.now()) * 1000n);
    } catch (error) {
      onError(error);
    }
    timer = setTimeout(start, everyMs).unref();
  };
  const start = () => void (running = collect());
  let timer = setTimeout(start, firstMs).unref();
  return {
    async stop() {
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
  };
}
