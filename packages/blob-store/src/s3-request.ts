import { setTimeout as pause } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { AwsClient } from "aws4fetch";
import { sha256Of } from "./digest.js";
import { elementOf } from "./xml.js";

/** Address and credentials of S3. */
export interface S3Access {
  /** Of an S3-compatible server, for example `http://minio:9000`; absent = AWS. */
  endpoint?: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

interface S3Request {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Key inside the bucket; "" = the bucket itself. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** S3 copies up to some gigabytes before it responds. */
  long?: boolean;
}

interface S3Response {
  status: number;
  headers: Headers;
  text: string;
}

export interface S3 {
  /** Sends one request and reads its response; retries transient failures. Returns responses of status 2xx and 404. */
  send: (request: S3Request) => Promise<S3Response>;
  /** Streams the body of a response of status 206. Throws `not_found` for 404. */
  receive: (request: S3Request) => AsyncGenerator<Uint8Array>;
}

const attempts = 4;

export interface S3Timeouts {
  /** Limit for a response, or for its next bytes; after it there is no further attempt. */
  ms: number;
  /** Extra time for the bytes of a request body, on a slow network. */
  bytesPerMs: number;
  /** Limit for requests marked `long`. */
  longMs: number;
}

const defaultTimeouts: S3Timeouts = { ms: 10_000, bytesPerMs: 500, longMs: 120_000 };

export function s3Client(bucket: string, access: S3Access, timeouts: S3Timeouts = defaultTimeouts): S3 {
  const client = new AwsClient({
    accessKeyId: access.accessKeyId,
    secretAccessKey: access.secretAccessKey,
    ...(access.sessionToken !== undefined && { sessionToken: access.sessionToken }),
    service: "s3",
    region: access.region,
  });
  const base = addressOf(bucket, access);

  async function once({ method, key, query, headers, body }: S3Request, signal: AbortSignal): Promise<Response> {
    const url = new URL(pathOf(key), base);
    // The bucket itself has no slash after its name.
    if (key === "" && url.pathname !== "/") url.pathname = url.pathname.slice(0, -1);
    url.search = Object.entries(query ?? {})
      .map(([name, value]) => `${name}=${encoded(value)}`)
      .join("&");
    const signed = await client.sign(url.href, {
      method,
      // S3 checks the body against its digest, so a broken line cannot store broken bytes.
      headers: { ...headers, "x-amz-content-sha256": sha256Of(body ?? new Uint8Array()) },
      ...(body !== undefined && { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }),
    });
    // A proxy that compresses would take away the sizes. Not signed, as proxies change it.
    signed.headers.set("accept-encoding", "identity");
    // Requests go where they are configured to go, and nowhere else.
    return await fetch(signed, { signal, redirect: "manual" });
  }

  /** Resolves as `work` does, unless that takes too long: then `abort` ends it. */
  async function within<T>(ms: number, abort: AbortController, work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => abort.abort(new Error(`nothing came for ${Math.round(ms / 100) / 10} s`)), ms);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  async function tried<T>(attempt: (abort: AbortController) => Promise<T>): Promise<T> {
    const started = performance.now();
    for (let count = 1; ; count++) {
      let failure: HeddleError;
      const abort = new AbortController();
      try {
        return await attempt(abort);
      } catch (error) {
        failure = error instanceof HeddleError ? error : noResponse(base, reasonOf(error));
        abort.abort();
        if (failure.code !== "busy") throw failure;
      }
      if (count === attempts || performance.now() - started >= timeouts.ms) throw failure;
      await pause(100 * 2 ** count * (0.5 + Math.random()));
    }
  }

  return {
    async send(request) {
      const { body, long = false } = request;
      const ms = (long ? timeouts.longMs : timeouts.ms) + (body?.length ?? 0) / timeouts.bytesPerMs;
      return await tried(async (abort) => {
        const response = await within(
          ms,
          abort,
          once(request, abort.signal).then(async (received) => ({
            status: received.status,
            headers: received.headers,
            text: await received.text(),
          })),
        );
        if ((response.status < 200 || response.status > 299) && response.status !== 404)
          throw failureOf(response, bucket, base);
        return response;
      });
    },

    async *receive(request) {
      const { body, abort } = await tried(async (aborting) => {
        const response = await within(timeouts.ms, aborting, once(request, aborting.signal));
        if (response.status === 404) throw new HeddleError("not_found", "the blob was deleted while it was read");
        if (response.status === 206 && response.body !== null) return { body: response.body, abort: aborting };
        const text = await within(timeouts.ms, aborting, response.text());
        throw failureOf({ status: response.status, headers: response.headers, text }, bucket, base);
      });
      const reader = body.getReader();
      try {
        for (;;) {
          const { done, value } = await within(timeouts.ms, abort, reader.read());
          if (done) return;
          yield value;
        }
      } catch (error) {
        throw noResponse(base, `the connection broke: ${reasonOf(error)}`);
      } finally {
        abort.abort();
      }
    },
  };
}

/** The text of a response to a request for something that must exist. */
export function textOf({ status, text }: S3Response, bucket: string): string {
  const code = elementOf(text, "Code");
  if (status === 404 && code === "NoSuchBucket") {
    throw denied(`S3 has no bucket "${bucket}": create it, or correct HEDDLE_BLOBS_URL`);
  }
  // Copying and completing can fail after the status was sent.
  if (status === 404 || /^\s*(<\?xml[^>]*>\s*)?<Error>/.test(text)) {
    throw new HeddleError("busy", "the file store does not respond", {
      cause: new Error(`S3 responds with ${code ?? `${status} without a reason: is it an S3 server?`}`),
    });
  }
  return text;
}

/** An error that the operator solves: a wrong bucket or wrong credentials. */
export function denied(reason: string): HeddleError {
  return new HeddleError("denied", "the file store refuses this service", { cause: new Error(reason) });
}

/** A key, encoded for a URL. */
export function pathOf(key: string): string {
  return key.split("/").map(encoded).join("/");
}

/** Encodes as signatures require: `encodeURIComponent` leaves some characters that have to be encoded, too. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function noResponse(base: URL, reason: string): HeddleError {
  const cause = new Error(`no response from S3 at ${base.origin}: ${reason}`);
  return new HeddleError("busy", "the file store does not respond", { cause });
}

/** The URL of a bucket. */
export function addressOf(bucket: string, { endpoint, region }: S3Access): URL {
  if (endpoint !== undefined) return new URL(`${bucket}/`, endpoint.endsWith("/") ? endpoint : `${endpoint}/`);
  // The certificate of AWS covers one more label only.
  return bucket.includes(".")
    ? new URL(`https://s3.${region}.amazonaws.com/${bucket}/`)
    : new URL(`https://${bucket}.s3.${region}.amazonaws.com/`);
}

function failureOf({ status, text }: S3Response, bucket: string, base: URL): HeddleError {
  const code = elementOf(text, "Code") ?? String(status);
  const again = status < 300 || (status >= 500 && status !== 501) || status === 429;
  if (again || code === "RequestTimeout" || code === "SlowDown") {
    return noResponse(base, `status ${code}`);
  }
  const message = elementOf(text, "Message");
  return denied(
    `S3 denies access to the bucket "${bucket}" at ${base.origin}: ${code}${message === undefined ? "" : ` (${message})`}`,
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
