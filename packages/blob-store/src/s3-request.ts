import { setTimeout as pause } from "node:timers/promises";
import { AwsClient } from "aws4fetch";
import { BlobError } from "./errors.js";
import { sha256Of } from "./digest.js";
import { elementOf } from "./xml.js";

/** How to reach S3 and as whom. */
export interface S3Access {
  /** Of an S3-compatible server, for example `http://minio:9000`; absent = AWS. */
  endpoint?: string;
  region: string;
  access_key_id: string;
  secret_access_key: string;
  session_token?: string;
}

interface S3Request {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Key inside the bucket; "" = the bucket itself. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
}

/** Sends one request, again when it fails for want of luck. Answers 2xx and 404; anything else is thrown. */
export type SendS3 = (request: S3Request) => Promise<Response>;

const attempts = 4;
/** Until the answer begins; a part of 8 MB takes its time on a slow line. */
const patienceMs = 60_000;

export function s3Sender(bucket: string, access: S3Access): SendS3 {
  const client = new AwsClient({
    accessKeyId: access.access_key_id,
    secretAccessKey: access.secret_access_key,
    ...(access.session_token !== undefined && { sessionToken: access.session_token }),
    service: "s3",
    region: access.region,
  });
  const base = baseOf(bucket, access);

  async function once({ method, key, query, headers, body }: S3Request): Promise<Response> {
    const url = new URL(key.split("/").map(encodeURIComponent).join("/"), base);
    // The bucket itself has no slash behind its name.
    if (key === "" && url.pathname !== "/") url.pathname = url.pathname.slice(0, -1);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const signed = await client.sign(url.href, {
      method,
      // S3 checks the body against its digest, so a broken line cannot store broken bytes.
      headers: { ...headers, "x-amz-content-sha256": sha256Of(body ?? new Uint8Array()) },
      ...(body !== undefined && { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }),
    });
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(new Error(`no answer within ${patienceMs / 1000} s`)), patienceMs);
    try {
      return await fetch(signed, { signal: patience.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      let failure: BlobError;
      try {
        const response = await once(request);
        if (response.ok || response.status === 404) return response;
        failure = await refusal(response, bucket, base);
        if (failure.code !== "busy") throw failure;
      } catch (error) {
        if (error instanceof BlobError) throw error;
        failure = new BlobError("busy", `no answer from S3 at ${base.origin}: ${reasonOf(error)}`);
      }
      if (attempt === attempts) throw failure;
      await pause(100 * 2 ** attempt * (0.5 + Math.random()));
    }
  };
}

/** Reads the answer to a request for something that must be there. */
export async function textOf(response: Response, bucket: string): Promise<string> {
  const text = await response.text();
  const code = elementOf(text, "Code");
  if (response.status === 404) {
    throw code === "NoSuchBucket"
      ? new BlobError("denied", `S3 has no bucket "${bucket}": make it, or mend HEDDLE_BLOBS_URL`)
      : new BlobError("not_found", `S3 answers ${code ?? "404"}`);
  }
  // Copying and completing can fail after the status was sent.
  if (/^\s*(<\?xml[^>]*>\s*)?<Error>/.test(text)) throw new BlobError("busy", `S3 answers ${code}`);
  return text;
}

function baseOf(bucket: string, { endpoint, region }: S3Access): URL {
  if (endpoint !== undefined) return new URL(`${bucket}/`, endpoint.endsWith("/") ? endpoint : `${endpoint}/`);
  // The certificate of AWS covers one label in front.
  return bucket.includes(".")
    ? new URL(`https://s3.${region}.amazonaws.com/${bucket}/`)
    : new URL(`https://${bucket}.s3.${region}.amazonaws.com/`);
}

async function refusal(response: Response, bucket: string, base: URL): Promise<BlobError> {
  const text = await response.text();
  const code = elementOf(text, "Code") ?? String(response.status);
  if (response.status >= 500 || response.status === 429 || code === "RequestTimeout" || code === "SlowDown") {
    return new BlobError("busy", `S3 at ${base.origin} answers ${code}`);
  }
  const message = elementOf(text, "Message");
  return new BlobError(
    "denied",
    `S3 refuses the bucket "${bucket}" at ${base.origin}: ${code}${message === undefined ? "" : ` (${message})`}`,
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
