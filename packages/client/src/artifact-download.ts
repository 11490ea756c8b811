import type { ProgressOptions } from "./artifact-progress.js";
import type { Connection } from "./connection.js";
import { describeCause } from "./cause.js";
import { HeddleApiError } from "./error.js";
import { exchange } from "./exchange.js";
import { getArtifactVersion, listArtifactFiles } from "./generated/training.js";
import type { ListArtifactFilesInput, ListArtifactFilesResult } from "./generated/training.js";
import { withQuery } from "./outgoing.js";

/** The version to read, and which of its files; all of them if absent. */
export interface ArtifactDownload extends ListArtifactFilesInput {
  paths?: readonly string[];
}

export type DownloadedFile = ListArtifactFilesResult["files"][number] & {
  /** The bytes, to be read once and before the next file is taken. */
  content: AsyncIterable<Uint8Array>;
};

const operation = "GET /v1/artifacts/{entity}/{project}/{name}/versions/{version}/file";

/**
 * Reads the files of a version, one after the other, without holding them in memory. A connection that breaks is taken up
 * where it broke, as often as requests are retried; content that stays incomplete ends in an error.
 */
export async function* downloadArtifact(
  connection: Connection<"training">,
  { paths, ...version }: ArtifactDownload,
  { onProgress, ...options }: ProgressOptions = {},
): AsyncGenerator<DownloadedFile, void, undefined> {
  // An alias that moves meanwhile changes nothing.
  const exact = { ...version, version: (await getArtifactVersion(connection, version, options)).version };
  const { files: all } = await listArtifactFiles(connection, exact, options);
  const files = paths === undefined ? all : all.filter(({ path }) => paths.includes(path));
  const total = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  let done = 0;
  for (const file of files) {
    const before = done;
    const report = (bytes: number) => onProgress?.({ path: file.path, transferred: before + bytes, total });
    yield { ...file, content: read(connection, exact, file, report, options) };
    done += file.size_bytes;
  }
}

async function* read(
  connection: Connection<"training">,
  version: ListArtifactFilesInput,
  { path, size_bytes }: ListArtifactFilesResult["files"][number],
  report: (bytes: number) => void,
  options: ProgressOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { retries = connection.retries } = options;
  let bytes = 0;
  for (let attempt = 0; ; attempt++) {
    const range = bytes === 0 ? {} : { Range: `bytes=${bytes}-` };
    const outgoing = withQuery(
      "downloadArtifactFile",
      operation,
      { ...version, path, ...range },
      { headers: ["Range"] },
    );
    const { data, response, deadline } = await exchange(connection, outgoing, options, (begun) => begun.body);
    const reader = data?.getReader();
    let cause: unknown;
    try {
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done || value === undefined) break;
        bytes += value.length;
        report(bytes);
        yield value;
      }
      if (bytes === size_bytes) return;
    } catch (error) {
      options.signal?.throwIfAborted();
      cause = error;
    } finally {
      void reader?.cancel().catch(() => undefined);
      deadline.release();
    }
    if (attempt < retries) continue;
    const why = cause === undefined ? "" : `: ${describeCause(cause, connection.host).text}`;
    const reason = `${path} ended after ${bytes} of ${size_bytes} bytes${why}`;
    throw new HeddleApiError(outgoing, { headers: response.headers, cause, reason });
  }
}
