import type { Sharer } from "@heddle/concurrency";
import { writeSlices } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, StreamBody } from "@heddle/server-stub";
import { acceptedEncodings } from "./accepted-encodings.js";
import { beginCompressing } from "./compressing.js";
import { CompressingSink } from "./compressing-sink.js";
import { encodings } from "./encodings.js";
import type { ContentEncoding } from "./encodings.js";

/** A packet holds as much anyway. */
const leastBytes = 1024;

/** Files of users are not looked at, nor what is compressed already. */
const compressibleType =
  /^(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?(?:json|jsonl|x-ndjson|yaml|xml|javascript)|image\/svg\+xml)\s*(?:;|$)/i;

/**
 * Compresses a response as the request accepts it. What holds a secret is left as it is (`no-transform`): its length would
 * tell about it. So are parts of something, and what clients may ask for in parts.
 */
export function compressResponse(
  request: HttpRequest,
  response: HttpResponse,
  sharer: () => Sharer | undefined,
): HttpResponse {
  if (!isCompressible(response)) return response;
  const varying = { ...response, headers: { ...response.headers, vary: varyOn(response.headers["vary"]) } };
  const encoding = encodingFor(request.header("accept-encoding") ?? "");
  const { body } = response;
  if (encoding === undefined || lengthOf(response) < leastBytes) return varying;
  // A length is that of the response to a GET, which is compressed.
  if (request.method === "HEAD") return { ...varying, headers: encodedHeaders(varying.headers, encoding) };
  if (body === undefined || response.drain === true || request.signal.aborted) return varying;
  const release = beginCompressing(sharer());
  if (release === undefined) return varying;
  // An adapter whose client has left does not ask for the body.
  request.signal.addEventListener("abort", release, { once: true });
  const whole: StreamBody = typeof body === "function" ? body : async (sink) => await writeSlices(sink, body);
  return {
    ...varying,
    headers: encodedHeaders(varying.headers, encoding),
    async body(sink) {
      const compressing = new CompressingSink(sink, encoding, sharer());
      try {
        await whole(compressing);
        await compressing.end();
      } finally {
        compressing.destroy();
        release();
      }
    },
  };
}

function isCompressible({ status, headers }: HttpResponse): boolean {
  return (
    status !== 206 &&
    compressibleType.test(headers["content-type"] ?? "") &&
    headers["content-encoding"] === undefined &&
    headers["accept-ranges"] === undefined &&
    !/\bno-transform\b/.test(headers["cache-control"] ?? "")
  );
}

/** The best of those that are accepted as much as any, and no less than none at all. */
function encodingFor(header: string): ContentEncoding | undefined {
  if (header === "") return undefined;
  const weightOf = acceptedEncodings(header);
  const most = Math.max(...encodings.map(({ name }) => weightOf(name)), weightOf("identity"));
  return encodings.find(({ name }) => weightOf(name) > 0 && weightOf(name) === most);
}

/** Bytes or UTF-16 units; infinite for a stream, where it is not known. */
function lengthOf({ headers, body }: HttpResponse): number {
  if (typeof body === "string" || body instanceof Uint8Array) return body.length;
  return Number(headers["content-length"] ?? (body === undefined ? 0 : Infinity));
}

function encodedHeaders(headers: Record<string, string>, { name }: ContentEncoding): Record<string, string> {
  const { "content-length": _, etag, ...others } = headers;
  // The bytes are not those that a strong tag is of.
  const weak = etag !== undefined && !etag.startsWith("W/") ? `W/${etag}` : etag;
  return { ...others, "content-encoding": name, ...(weak !== undefined && { etag: weak }) };
}

function varyOn(vary: string | undefined): string {
  if (vary === undefined) return "accept-encoding";
  return /\baccept-encoding\b|\*/i.test(vary) ? vary : `${vary}, accept-encoding`;
}
