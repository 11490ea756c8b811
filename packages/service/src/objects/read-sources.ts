import type { StoredFile, StoredObject } from "@heddle/trace-store";
import type { ObjectStores } from "./object-stores.js";

/** Objects whose files are looked up together, and bytes of files that are read together. */
const lookedUp = 100;
const readBytes = 4 * 1024 * 1024;

export interface WithSource {
  object: StoredObject;
  /** Text of the source file; empty where there is none. */
  source: string;
}

/** Reads the source files of objects of one project, in order, on demand. */
export async function* readSources(
  { store, blobs }: ObjectStores,
  projectId: string,
  objects: readonly StoredObject[],
  sourceOf: (object: StoredObject) => Promise<string | undefined>,
): AsyncGenerator<WithSource> {
  for (let from = 0; from < objects.length; from += lookedUp) {
    const slice = objects.slice(from, from + lookedUp);
    const digests = await Promise.all(slice.map(sourceOf));
    const known = digests.filter((digest) => digest !== undefined);
    const files = await store.files.find({ project_id: projectId, digests: [...new Set(known)] });
    const found = slice.map((object, index) => ({ object, file: files.get(digests[index] ?? "") }));
    for (const batch of batchesOf(found)) {
      yield* await Promise.all(
        batch.map(async ({ object, file }) => ({ object, source: file === undefined ? "" : await textOf(file) })),
      );
    }
  }

  async function textOf(file: StoredFile): Promise<string> {
    const { stream } = await blobs.get(file.blob_key, { verify: true });
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  }
}

function* batchesOf<Item extends { file: StoredFile | undefined }>(items: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = item.file?.size_bytes ?? 0;
    if (batch.length > 0 && bytes + size > readBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
