import type { Exchange } from "./exchange.js";

const maxLength = 600;

/** Method, path and the beginning of the body of a request. Headers are left out: one of them is the key. */
export function requestExcerpt({ request: { method, target, headers, body } }: Exchange): string {
  const type = headers["content-type"];
  return [`${method} ${target}`, ...(type === undefined ? [] : [type]), ...bodyLines(body)].join("\n");
}

/** Status, media type and the beginning of the body of a response. */
export function responseExcerpt({ status, headers, text, bytes }: Exchange): string {
  const type = headers.get("content-type");
  const isBinary = type === "application/octet-stream" || type === "application/x-protobuf";
  const body = bodyLines(isBinary ? bytes : text);
  return [`${status}${type === null ? "" : ` ${type}`}`, ...body].join("\n");
}

function bodyLines(body: unknown): string[] {
  if (body === undefined || body === "") return [];
  if (typeof body === "string") return [shortened(body)];
  if (body instanceof Uint8Array) return [`(${body.length} bytes)`];
  return body instanceof FormData ? [`(form with ${[...body.keys()].join(", ")})`] : [];
}

/** One line of text: control characters of a hostile response do not reach a terminal. */
function shortened(text: string): string {
  const start = text.length > maxLength ? `${text.slice(0, maxLength)}… (${text.length} characters)` : text;
  // oxlint-disable-next-line no-control-regex
  return start.replace(/[\u0000-\u001f\u007f-\u009f]/g, (found) => (found === "\n" ? "\\n" : "\ufffd"));
}
