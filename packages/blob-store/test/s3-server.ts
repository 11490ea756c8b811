import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { S3Access } from "../src/index.js";

/**
 * An S3 server with one bucket, over a temporary directory. The two operations on unfinished uploads that s3rver has
 * not are added here, on its own files.
 */
export async function startS3Server(bucket: string) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-s3-"));
  const s3rver = new S3rver({ silent: true, directory, configureBuckets: [{ name: bucket }] });
  await s3rver.configureBuckets();
  const answer: RequestListener = s3rver.callback();
  const uploads = join(directory, bucket, "._S3rver_uploads");
  const unfinished = () => (existsSync(uploads) ? readdirSync(uploads) : []);
  const failures: number[] = [];
  const requests: string[] = [];

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://s3");
    requests.push(`${request.method} ${url.pathname}`);
    const failure = failures.shift();
    if (failure !== undefined) fail(request, response, failure);
    else if (request.method === "DELETE" && url.searchParams.has("uploadId")) {
      rmSync(join(uploads, url.searchParams.get("uploadId") ?? ""), { recursive: true, force: true });
      response.writeHead(204).end();
    } else if (request.method === "GET" && url.searchParams.has("uploads")) {
      response.writeHead(200, { "content-type": "application/xml" }).end(uploadList());
    } else answer(request, response);
  });

  function uploadList(): string {
    const entries = unfinished().map((id) => {
      const key = readFileSync(join(uploads, id, "key"), "utf8");
      const begun = statSync(join(uploads, id, "key")).mtime.toISOString();
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun}</Initiated></Upload>`;
    });
    return `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${entries.join("")}</ListMultipartUploadsResult>`;
  }

  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const access: S3Access = {
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    access_key_id: "S3RVER",
    secret_access_key: "S3RVER",
  };
  return {
    access,
    unfinished,
    /** Methods and paths of everything that was asked for so far. */
    requests,
    /** Answers the next requests with these status codes; 0 breaks the connection. */
    failNext: (...codes: number[]) => void failures.push(...codes),
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function fail(request: IncomingMessage, response: ServerResponse, status: number): void {
  request.resume();
  if (status === 0) request.socket.destroy();
  else response.writeHead(status).end("<Error><Code>SlowDown</Code></Error>");
}
