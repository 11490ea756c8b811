import type { ProgressOptions } from "./artifact-progress.js";
import type { Connection } from "./connection.js";
import { commitArtifact, findArtifactContents } from "./generated/training.js";
import { readJson } from "./json.js";
import type { CommitArtifactInput, CommitArtifactResult, UploadArtifactContentResult } from "./generated/training.js";

/** A version to make, with its files by path. Content on disk is a `Blob` too: `fs.openAsBlob` does not read it at once. */
export interface ArtifactUpload extends Omit<CommitArtifactInput, "files"> {
  files: Readonly<Record<string, Blob | Uint8Array<ArrayBuffer>>>;
}

interface Content {
  path: string;
  blob: Blob;
  /** Only of content that fits into memory. */
  sha256: string | undefined;
}

/** The digest of larger content is computed by the service alone. */
const mostHashed = 64 * 1024 * 1024;

/**
 * Sends files and makes a version of them. Content that the project has already is not sent again, so that a second try
 * goes on where the first has failed. There is no limit to the time of an upload unless `timeout` is given.
 */
export async function uploadArtifact(
  connection: Connection<"training">,
  { files, ...version }: ArtifactUpload,
  { onProgress, ...options }: ProgressOptions = {},
): Promise<CommitArtifactResult> {
  const { entity, project } = version;
  const contents: Content[] = [];
  // One by one: each is in memory while it is hashed.
  for (const file of Object.entries(files)) contents.push(await contentOf(file));
  const known = await knownContents(connection, { entity, project }, contents, options);
  const total = contents.reduce((sum, { blob }) => sum + blob.size, 0);
  let done = 0;
  const committed: { path: string; sha256: string }[] = [];
  for (const content of contents) {
    const { path, blob } = content;
    const report = (bytes: number) => onProgress?.({ path, transferred: done + bytes, total });
    let { sha256 } = content;
    if (sha256 === undefined || !known.has(sha256)) {
      sha256 = (await send(connection, { entity, project }, content, report, options)).sha256;
      known.add(sha256);
    }
    report(blob.size);
    done += blob.size;
    committed.push({ path, sha256 });
  }
  return await commitArtifact(connection, { ...version, files: committed }, options);
}

async function contentOf([path, source]: [string, Blob | Uint8Array<ArrayBuffer>]): Promise<Content> {
  const blob = source instanceof Blob ? source : new Blob([source]);
  if (blob.size > mostHashed) return { path, blob, sha256: undefined };
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  return { path, blob, sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

async function knownContents(
  connection: Connection<"training">,
  where: { entity: string; project: string },
  contents: readonly Content[],
  options: ProgressOptions,
): Promise<Set<string>> {
  const sha256 = contents.flatMap((content) => content.sha256 ?? []);
  if (sha256.length === 0) return new Set();
  const found = await findArtifactContents(connection, { ...where, sha256 }, options);
  return new Set(found.contents.map((content) => content.sha256));
}

async function send(
  connection: Connection<"training">,
  where: { entity: string; project: string },
  { path, blob, sha256 }: Content,
  report: (bytes: number) => void,
  options: ProgressOptions,
): Promise<UploadArtifactContentResult> {
  const outgoing = {
    operationId: "uploadArtifactContent",
    operation: "POST /v1/artifact-contents/{entity}/{project}",
    path: where,
    query: { sha256 },
    headers: { "content-type": "application/octet-stream" },
    body: () => (streamsRequests ? counted(blob, report) : blob),
    duplex: "half" as const,
  };
  const stored = await readJson<UploadArtifactContentResult>(connection, outgoing, { timeout: 0, ...options });
  if (stored.size_bytes !== blob.size) throw new Error(`${path} has changed while it was sent`);
  return stored;
}

/** Browsers send streams over HTTP/2 only, so there a file counts when it was sent. */
const streamsRequests = !("document" in globalThis) && !("WorkerGlobalScope" in globalThis);

function counted(blob: Blob, report: (bytes: number) => void): ReadableStream<Uint8Array> {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      report(bytes);
      controller.enqueue(chunk);
    },
  });
  return blob.stream().pipeThrough(counter);
}
