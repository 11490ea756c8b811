import { readFileSync } from "node:fs";

/** Where the limit of the process cannot be read. */
const usualFiles = 4096;
const most = 4096;

/**
 * How many connections leave enough files for the service itself. Each may have two files open besides its socket, the
 * one that a request writes and its directory; twice as many further connections wait to be refused; and a sixth is left
 * for databases, the engine and pages.
 */
export function defaultMaxConnections(files: number = openFiles()): number {
  return Math.max(10, Math.min(most, Math.floor(files / 6)));
}

function openFiles(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return usualFiles;
  }
}
