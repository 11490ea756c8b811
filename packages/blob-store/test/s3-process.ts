/**
 * An S3 server with one bucket, over a directory: the process that `startS3Server` starts. The two operations on
 * unfinished uploads that s3rver has not are added here, on its own files. Below `/-/` the test steers it: what was
 * asked for so far, and the status codes of the next responses.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import S3rver from "@20minutes/s3rver";

const [, , directory = "", bucket = ""] = process.argv;
const s3rver = new S3rver({ silent: true, directory, configureBuckets: [{ name: bucket }] });
await s3rver.configureBuckets();
const respond: RequestListener = s3rver.callback();
const uploads = join(directory, bucket, "._S3rver_uploads");
const failures: number[] = [];
const requests: string[] = [];

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://s3");
  if (url.pathname.startsWith("/-/")) void steer(request, response);
  else serve(url, request, response);
});

function serve(url: URL, request: IncomingMessage, response: ServerResponse): void {
  requests.push(`${request.method} ${url.pathname}`);
  const failure = failures.shift();
  if (failure === -1) cut(request, response);
  else if (failure !== undefined) fail(request, response, failure);
  else if (request.method === "DELETE" && url.searchParams.has("uploadId")) {
    rmSync(join(uploads, url.searchParams.get("uploadId") ?? ""), { recursive: true, force: true });
    response.writeHead(204).end();
  } else if (request.method === "GET" && url.searchParams.has("uploads")) {
    response.writeHead(200, { "content-type": "application/xml" }).end(uploadList());
  } else respond(request, response);
}

async function steer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "POST") failures.push(...((await json(request)) as number[]));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(requests));
}

function fail(request: IncomingMessage, response: ServerResponse, status: number): void {
  request.resume();
  if (status === 0) request.socket.destroy();
  else response.writeHead(status).end("<Error><Code>SlowDown</Code></Error>");
}

/** The real response, up to the middle of its first chunk. */
function cut(request: IncomingMessage, response: ServerResponse): void {
  const write = response.write.bind(response);
  response.write = (piece: Buffer) => write(piece.subarray(0, piece.length / 2), () => request.socket.destroy());
  respond(request, response);
}

function uploadList(): string {
  const ids = (existsSync(uploads) ? readdirSync(uploads) : []).filter((id) => existsSync(join(uploads, id, "key")));
  const entries = ids.map((id) => {
    const key = readFileSync(join(uploads, id, "key"), "utf8");
    const begun = statSync(join(uploads, id, "key")).mtime.toISOString();
    return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun}</Initiated></Upload>`;
  });
  return `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${entries.join("")}</ListMultipartUploadsResult>`;
}

server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
// The test that started it has ended.
process.on("disconnect", () => process.exit());
