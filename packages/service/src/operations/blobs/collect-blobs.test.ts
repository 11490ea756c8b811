import { afterEach, expect, test, vi } from "vitest";
import { scheduleBlobCollection } from "./collect-blobs.js";

afterEach(() => void vi.useRealTimers());

test("only the service that writes collects: another one that was the writer before deletes nothing", async () => {
  vi.useFakeTimers();
  const listed: string[] = [];
  const stores = {
    losses: { list: () => [] },
    store: { brokenParts: async () => [], files: { blobsInUse: async () => new Set() } },
    control: {
      artifacts: {
        forgetUploads: async () => {},
        drafts: { forget: async () => {} },
        contentsInUse: async () => new Set(),
      },
      trainingJobs: { blobsInUse: async () => new Set() },
    },
    blobs: {
      async *list() {
        listed.push("listed");
        yield* [];
      },
      discardDrafts: async () => {},
    },
  };
  let mayWrite = false;
  const errors: unknown[] = [];
  const options = { mayWrite: () => mayWrite, onError: (error: unknown) => errors.push(error) };
  const collection = scheduleBlobCollection(stores as never, options);
  await vi.advanceTimersByTimeAsync(3 * 24 * 3_600_000);
  expect(listed).toEqual([]);
  mayWrite = true;
  await vi.advanceTimersByTimeAsync(24 * 3_600_000);
  expect(listed).toEqual(["listed"]);
  await collection.stop();
  await vi.advanceTimersByTimeAsync(3 * 24 * 3_600_000);
  expect([listed.length, errors]).toEqual([1, []]);
});
