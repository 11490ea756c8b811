import { exactJson } from "../terminal/json-line.js";

/** What a tool found, in the shapes of the Model Context Protocol. */
export type ToolContent =
  | { type: "text"; text: string }
  | { type: "image" | "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; blob: string; mimeType: string } };

/** How much of a result an agent gets, and how long it waits for a stream that goes on. */
export interface ResultLimits {
  bytes: number;
  /** Milliseconds. */
  streamTime: number;
}

const text = (content: string): ToolContent => ({ type: "text", text: content });

const less =
  "Ask for less: a narrower filter or query, fewer columns, a smaller limit, or the next part with offset or after.";

/** A result as JSON, with every digit; of a long one the beginning, and that it is. */
export function jsonContent(value: unknown, { bytes }: ResultLimits): ToolContent[] {
  const json = Buffer.from(exactJson(value));
  if (json.length <= bytes) return [text(json.toString())];
  return [
    text(new TextDecoder().decode(json.subarray(0, bytes), { stream: true })),
    text(`[Cut: these are the first ${bytes} of ${json.length} bytes, so the JSON is not complete. ${less}]`),
  ];
}

/** Items as lines of JSON, as many whole ones as there is room and time for. Leaving the loop ends the request. */
export async function linesContent(
  items: AsyncIterable<unknown>,
  limits: ResultLimits,
  { most, isOver }: { most: number; isOver: () => boolean },
): Promise<ToolContent[]> {
  const lines: string[] = [];
  let room = limits.bytes;
  const content = (note: string) => [...(lines.length > 0 ? [text(lines.join("\n"))] : []), text(note)];
  const count = () => `${lines.length} ${lines.length === 1 ? "item" : "items"}`;
  try {
    for await (const item of items) {
      if (lines.length >= most) return content(`[${count()}, as many as the limit says; there are more.]`);
      const line = exactJson(item);
      const size = Buffer.byteLength(line) + 1;
      if (size > room && lines.length === 0) return jsonContent(item, limits);
      if (size > room) return content(`[Cut after ${count()}: there are more. ${less}]`);
      room -= size;
      lines.push(line);
    }
  } catch (error) {
    if (!isOver()) throw error;
    return content(`[${count()} within ${limits.streamTime / 1000} s; the stream goes on.]`);
  }
  return lines.length > 0 ? [text(lines.join("\n"))] : [text("[There is none.]")];
}

const signatures: readonly (readonly [mimeType: string, signature: RegExp])[] = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xFF\xD8\xFF/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["audio/wav", /^RIFF.{4}WAVE/s],
  ["audio/mpeg", /^ID3|^\xFF[\xFB\xF3\xF2]/],
];

/** A file as what it is: an image or a sound that agents perceive, text, or bytes. Half an image is none. */
export function fileContent(bytes: Uint8Array, name: string, limits: ResultLimits): ToolContent[] {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const mimeType = signatures.find(([, signature]) => signature.test(start))?.[0] ?? "application/octet-stream";
  const isMedia = mimeType !== "application/octet-stream";
  const decoded = isMedia ? undefined : textOf(bytes);
  if (decoded !== undefined) {
    if (bytes.length <= limits.bytes) return [text(decoded)];
    const part = new TextDecoder().decode(bytes.subarray(0, limits.bytes), { stream: true });
    return [text(part), text(`[Cut: these are the first ${limits.bytes} of ${bytes.length} bytes of the file.]`)];
  }
  // A model is charged for an image by its pixels, not by its bytes.
  const most = isMedia ? mediaBytes : limits.bytes;
  if (bytes.length > most)
    return [text(`[A file of ${bytes.length} bytes, ${mimeType}: more than the ${most} bytes that are handed on.]`)];
  const data = Buffer.from(bytes).toString("base64");
  if (isMedia) return [{ type: mimeType.startsWith("image/") ? "image" : "audio", data, mimeType }];
  return [{ type: "resource", resource: { uri: `heddle:${encodeURI(name)}`, blob: data, mimeType } }];
}

const mediaBytes = 5_000_000;

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return decoded.includes("\0") ? undefined : decoded;
  } catch {
    return undefined;
  }
}
