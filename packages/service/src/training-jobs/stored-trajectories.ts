import type { BlobStore } from "@heddle/blob-store";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

/** Reads trajectory groups as `packTrajectories` stored them. Other work of the process goes on meanwhile. */
export async function readStoredGroups(blobs: BlobStore, key: string): Promise<object[]> {
  const { stream } = await blobs.get(key, { verify: true });
  const groups: object[] = [];
  let trajectories: unknown[] = [];
  for await (const line of createInterface({ input: Readable.from(stream), crlfDelay: Infinity })) {
    const record = JSON.parse(line) as { trajectory?: unknown; group?: object };
    if (record.group === undefined) trajectories.push(record.trajectory);
    else {
      groups.push({ ...record.group, trajectories });
      trajectories = [];
    }
  }
  return groups;
}
