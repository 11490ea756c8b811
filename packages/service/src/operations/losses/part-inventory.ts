import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { mutex } from "@heddle/concurrency";
import { ifExists, replaceDurableFile } from "@heddle/durable-files";
import type { StoredPart, TraceStore } from "@heddle/trace-store";

const fileName = "trace-parts.json";
const everyMs = 5000;

/** What the embedded engine had on its disk when it was last looked at; undefined when it never was. */
export async function readInventory(dataDir: string): Promise<StoredPart[] | undefined> {
  const text = await ifExists(readFile(join(dataDir, fileName), "utf8"));
  try {
    return text === undefined ? undefined : (JSON.parse(text) as StoredPart[]);
  } catch {
    // Cut short by a crash of the file system.
    return undefined;
  }
}

export async function writeInventory(dataDir: string, parts: readonly StoredPart[]): Promise<void> {
  await replaceDurableFile(join(dataDir, fileName), JSON.stringify(parts));
}

/** Keeps the inventory up to date, and once more when it is stopped. */
export function keepInventory(dataDir: string, store: TraceStore): { stop(): Promise<void> } {
  let written = "";
  const runExclusive = mutex();
  const update = async () => {
    // An engine that does not respond, or a full disk: the next time will do.
    const parts = await store.parts().catch(() => undefined);
    const names = JSON.stringify(parts?.map(({ table, name }) => [table, name]));
    if (parts === undefined || names === written) return;
    await writeInventory(dataDir, parts).then(
      () => (written = names),
      () => {},
    );
  };
  const next = () => runExclusive(update);
  const timer = setInterval(() => void next(), everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await next();
    },
  };
}
