import { readdirSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface WatchOptions {
  /** Names of files and directories whose changes do not count. */
  ignored?: RegExp;
  /** What else is written within this time after a change belongs to it. */
  settleMs?: number;
  /** Ends the watching. */
  signal?: AbortSignal;
}

/**
 * Runs `run` at once and again after every change below the directories, one run at a time: changes during a run cause
 * one more. An error of a run goes to `onError`. Returns when the signal ends it.
 */
export async function watchDirectories(
  directories: readonly string[],
  run: () => Promise<void>,
  onError: (error: unknown) => void,
  { ignored = /^(?:node_modules|dist)$/, settleMs = 50, signal }: WatchOptions = {},
): Promise<void> {
  const watchers = new Map<string, FSWatcher>();
  let isChanged = true;
  let wake = () => {};
  const notice = (name: string | null) => {
    if (name !== null && ignored.test(name)) return;
    isChanged = true;
    wake();
  };
  const stop = () => wake();
  signal?.addEventListener("abort", stop);
  const isEnded = () => signal?.aborted === true;
  while (!isEnded()) {
    // Before the run, so that it sees whatever is written to a new directory from now on.
    watchAll(
      directories.flatMap((directory) => treeOf(directory, ignored)),
      watchers,
      notice,
    );
    isChanged = false;
    await run().catch(onError);
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (isChanged || isEnded()) resolve();
    });
    await delay(settleMs);
  }
  signal?.removeEventListener("abort", stop);
  for (const watcher of watchers.values()) watcher.close();
}

/**
 * Watches directories one by one: a watched file is lost when an editor replaces it, and Node watches the files of a
 * tree, not its directories, on Linux.
 */
function watchAll(
  directories: readonly string[],
  watchers: Map<string, FSWatcher>,
  notice: (name: string | null) => void,
): void {
  for (const [directory, watcher] of watchers) {
    if (directories.includes(directory)) continue;
    watcher.close();
    watchers.delete(directory);
  }
  for (const directory of directories) {
    if (watchers.has(directory)) continue;
    const watcher = watch(directory, (_, name) => notice(name));
    // The directory was removed.
    watcher.on("error", () => notice(null));
    watchers.set(directory, watcher);
  }
}

function treeOf(directory: string, ignored: RegExp): string[] {
  const below = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !ignored.test(entry.name))
    .flatMap(({ name }) => treeOf(join(directory, name), ignored));
  return [directory, ...below];
}
