import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArtifactFile, ArtifactVersion } from "@heddle/control-plane";
import { syncDirectory } from "@heddle/durable-files";
import type { ArtifactStores } from "./artifact-stores.js";
import { readContent } from "./read-content.js";

const pageSize = 1000;

/**
 * Writes the files of a version into a directory, which appears when all of them are in it, durable and with their digest
 * checked. A directory that another call has made meanwhile stays as it is. The draft is next to it, with `.draft` at the
 * end of its name; only a crash leaves one behind.
 */
export async function writeDirectory(
  services: ArtifactStores,
  version: ArtifactVersion,
  directory: string,
): Promise<void> {
  const draft = `${directory}.${randomUUID()}.draft`;
  try {
    await mkdir(draft, { recursive: true });
    const folders = new Set([draft]);
    for await (const file of filesOf(services, version)) {
      const path = join(draft, ...file.path.split("/"));
      for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, (await readContent(services, file, { verify: true })).stream);
    }
    for (const folder of folders) await syncDirectory(folder);
    await rename(draft, directory).catch(ignoreIfMade);
    await syncDirectory(dirname(directory));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** All files of a version in the order of their paths. */
export async function* filesOf(
  { control }: Pick<ArtifactStores, "control">,
  { id }: ArtifactVersion,
): AsyncGenerator<ArtifactFile> {
  let after: string | undefined;
  for (;;) {
    const page = await control.artifacts.listFiles({ version_id: id, limit: pageSize, ...(after && { after }) });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.path;
  }
}

async function writeFile(path: string, stream: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, "wx");
  try {
    for await (const chunk of stream) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

function ignoreIfMade(error: unknown): void {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "EPERM") throw error;
}
