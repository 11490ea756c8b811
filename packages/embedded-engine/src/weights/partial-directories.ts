import { randomBytes } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** `.<name>.<process id>.<random>.partial`, in the parent of the final directory. */
const partialName = /^\..+\.(\d+)\.[0-9a-f]{12}\.partial$/u;

/** Names that this process is currently writing. */
const active = new Set<string>();

/** Returns a temporary name in the same parent as `directory`. `removeLeftovers` keeps it until `release`. */
export function claimPartialName(directory: string): { path: string; release(): void } {
  const name = `.${basename(directory)}.${process.pid}.${randomBytes(6).toString("hex")}.partial`;
  active.add(name);
  return { path: join(dirname(directory), name), release: () => active.delete(name) };
}

/** Removes temporary directories in `parent` whose process has exited. Only one machine at a time may write there. */
export async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const writer = partialName.exec(name)?.[1];
    if (writer === undefined || active.has(name)) continue;
    if (Number(writer) === process.pid || !isAlive(Number(writer))) {
      await rm(join(parent, name), { recursive: true, force: true });
    }
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
