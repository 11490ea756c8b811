import { machineMemory } from "@heddle/concurrency";
import type { Config } from "../config/config.js";

const mebibyte = 2 ** 20;
/** The part of the machine's memory that the newest calls take by default, and between which bounds. */
const [share, least] = [1 / 32, 32 * mebibyte];
export const mostCallMemoryBytes = 1024 * mebibyte;

/** Bytes of the newest calls that each tracing database may keep in the memory of its writer. */
export function newestCallBytes({ callMemoryBytes, shards }: Pick<Config, "callMemoryBytes" | "shards">): number {
  const all = callMemoryBytes ?? Math.min(mostCallMemoryBytes, Math.max(least, machineMemory() * share));
  return Math.floor(all / (shards.length + 1));
}
