import { Problem } from "../problem.js";

/** A file part of a multipart body. */
export interface FilePart {
  bytes: Uint8Array;
  filename: string | undefined;
  mediaType: string;
}

const maxParts = 100;
const maxHeaderBytes = 16_384;
const utf8 = new TextDecoder();

/**
 * Reads `multipart/form-data`. Parts may come in any order; those named in `files` arrive as `FilePart`, others as
 * text. Of a repeated name the last part counts. Throws 415 without a boundary, 400 for a body that is not multipart.
 */
export function readMultipart(
  bytes: Uint8Array,
  contentType: string | undefined,
  files: readonly string[],
): Record<string, string | FilePart> {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? "");
  if (boundary === null || !/^multipart\/form-data\b/i.test(contentType ?? "")) {
    throw new Problem(415, "send multipart/form-data with a boundary", {
      headers: { "accept-post": "multipart/form-data" },
    });
  }
  const delimiter = encode(`\r\n--${boundary[1] ?? boundary[2] ?? ""}`);
  const result: Record<string, string | FilePart> = {};
  // The first delimiter has no line break before it when nothing precedes it.
  let at = startsWith(bytes, delimiter.subarray(2), 0) ? delimiter.length - 2 : endOf(bytes, delimiter, 0);
  for (let parts = 0; !startsWith(bytes, dashes, at); parts++) {
    if (parts >= maxParts) throw new Problem(400, `a multipart body has at most ${maxParts} parts`);
    const headerStart = endOf(bytes, line, at);
    const headerEnd = startsWith(bytes, line, headerStart) ? headerStart - 2 : indexOf(bytes, blank, headerStart);
    if (headerEnd < 0 || headerEnd - headerStart > maxHeaderBytes) throw broken("a part without an end of its headers");
    const start = headerEnd + blank.length;
    const end = indexOf(bytes, delimiter, start - 2);
    if (end < 0) throw broken("a part that does not end");
    const part = readPart(utf8.decode(bytes.subarray(headerStart, Math.max(headerStart, headerEnd))));
    const content = bytes.subarray(start, Math.max(start, end));
    if (part.name !== undefined) {
      Object.defineProperty(result, part.name, {
        value: files.includes(part.name)
          ? { bytes: content, filename: part.filename, mediaType: part.mediaType }
          : utf8.decode(content),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    at = end + delimiter.length;
  }
  return result;
}

interface PartHeaders {
  name: string | undefined;
  filename: string | undefined;
  mediaType: string;
}

function readPart(headers: string): PartHeaders {
  const disposition = /^content-disposition:(.*)$/im.exec(headers)?.[1] ?? "";
  return {
    name: attribute(disposition, "name"),
    filename: extended(disposition) ?? attribute(disposition, "filename"),
    mediaType: /^content-type:(.*)$/im.exec(headers)?.[1]?.trim() ?? "application/octet-stream",
  };
}

/** `name="a \"b\""`; browsers write a quote as %22 and a line break as %0D%0A. */
function attribute(disposition: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(disposition);
  const value = found?.[1]?.replace(/\\(["\\])/g, "$1") ?? found?.[2];
  return value?.replace(/%22/g, '"').replace(/%0D%0A/gi, "\r\n");
}

/** `filename*=utf-8''na%C3%AFve.txt` */
function extended(disposition: string): string | undefined {
  const found = /;\s*filename\*=utf-8'[^']*'([^\s;]+)/i.exec(disposition)?.[1];
  try {
    return found === undefined ? undefined : decodeURIComponent(found);
  } catch {
    return undefined;
  }
}

function broken(what: string): Problem {
  return new Problem(400, `the multipart body is broken: ${what}`);
}

function encode(text: string): Uint8Array {
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

const dashes = encode("--");
const line = encode("\r\n");
const blank = encode("\r\n\r\n");

function endOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const at = indexOf(bytes, wanted, from);
  if (at < 0) throw broken("its boundary is missing");
  return at + wanted.length;
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const first = wanted[0] ?? 0;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (startsWith(bytes, wanted, at)) return at;
  }
  return -1;
}

function startsWith(bytes: Uint8Array, wanted: Uint8Array, at: number): boolean {
  if (at + wanted.length > bytes.length) return false;
  for (let index = 0; index < wanted.length; index++) if (bytes[at + index] !== wanted[index]) return false;
  return true;
}
