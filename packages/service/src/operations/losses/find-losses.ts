import type { BlobStore } from "@heddle/blob-store";
import { missingParts } from "@heddle/trace-store";
import type { StoredPart, TraceStore } from "@heddle/trace-store";
import type { Config } from "../../config/config.js";
import type { LossLog } from "./loss-log.js";
import { readInventory, writeInventory } from "./part-inventory.js";

interface Stored {
  /** How many there were in the tracing database before it was opened. */
  projects: number;
  store: TraceStore;
  blobs: BlobStore;
}

/** Compares at the start what the stores have with what they had, and reports what is missing. */
export async function findLosses(config: Config, stored: Stored, losses: LossLog): Promise<void> {
  const { projects, store } = stored;
  if (store.isNew && projects > 0) {
    losses.report("traces", `The tracing database was empty when it met a control plane with ${projects} project(s)`);
  }
  if (config.clickhouseUrl === undefined) await comparePartsWithInventory(config, store, losses);
  if ((await store.files.exist()) && !(await hasBlobs(stored.blobs))) {
    losses.report("blobs", "The file store is empty, and the tracing database has files");
  }
}

async function comparePartsWithInventory({ dataDir }: Config, store: TraceStore, losses: LossLog): Promise<void> {
  const [before, after, detached] = [await readInventory(dataDir), await store.parts(), await store.detachedParts()];
  const missing = missingParts(before ?? [], after, Date.now() / 1000).filter(
    // Those are reported as long as the engine keeps what is left of them.
    ({ table, name }) => !detached.some((other) => other.table === table && other.name.endsWith(name)),
  );
  const tables = new Map<string, StoredPart[]>();
  for (const part of await store.rebuild(missing)) tables.set(part.table, [...(tables.get(part.table) ?? []), part]);
  for (const [table, parts] of tables) losses.report("traces", lossOf(table, parts));
  await writeInventory(dataDir, after);
}

const namesShown = 5;

function lossOf(table: string, parts: readonly StoredPart[]): string {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  const names = parts.slice(0, namesShown).map(({ name }) => name);
  if (parts.length > namesShown) names.push("…");
  return `The table ${table} lacks ${rows} row(s) of ${parts.length} part(s) that it had: ${names.join(", ")}`;
}

async function hasBlobs(blobs: BlobStore): Promise<boolean> {
  for await (const _ of blobs.list()) return true;
  return false;
}
