import type { BlobStore } from "@heddle/blob-store";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

export interface StoredGroups {
  groups: { trajectories: unknown[] }[];
  /** By group and trajectory, the bytes of its text as it was sent; undefined in data of earlier versions. */
  lengths: (number | undefined)[][];
}

/** Reads trajectory groups as `packTrajectories` stored them. Other work of the process goes on meanwhile. */
export async function readStoredGroups(blobs: BlobStore, key: string): Promise<StoredGroups> {
  const { stream } = await blobs.get(key, { verify: true });
  return await readLines(stream, Infinity);
}

/** Reads the first groups of what `packTrajectories` yields, to its end. */
export async function readPacked(packed: AsyncIterable<Uint8Array>, most: number): Promise<StoredGroups["groups"]> {
  return (await readLines(packed, most)).groups;
}

/** Further groups than `most` are passed over. */
async function readLines(stream: AsyncIterable<Uint8Array>, most: number): Promise<StoredGroups> {
  const found: StoredGroups = { groups: [], lengths: [] };
  let trajectories: unknown[] = [];
  let lengths: (number | undefined)[] = [];
  for await (const line of createInterface({ input: Readable.from(stream), crlfDelay: Infinity })) {
    if (found.groups.length >= most) continue;
    const record = JSON.parse(line) as { trajectory?: unknown; bytes?: number; group?: object };
    if (record.group === undefined) {
      trajectories.push(record.trajectory);
      lengths.push(record.bytes);
    } else {
      found.groups.push({ ...record.group, trajectories });
      found.lengths.push(lengths);
      [trajectories, lengths] = [[], []];
    }
  }
  return found;
}
