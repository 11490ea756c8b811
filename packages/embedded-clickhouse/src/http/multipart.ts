import { ServerError } from "../engine/server-error.js";

const blankLine = Buffer.from("\r\n\r\n");

/** The fields of a `multipart/form-data` body. Files, which would be external tables, are refused. */
export function readMultipart(contentType: string, body: Buffer): Array<[string, string]> {
  const boundary = /\bboundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const delimiter = Buffer.from(`--${boundary?.[1] ?? boundary?.[2] ?? ""}`);
  if (delimiter.length === 2) throw malformed("it names no boundary");
  const fields: Array<[string, string]> = [];
  let position = body.indexOf(delimiter);
  while (position >= 0) {
    const start = position + delimiter.length;
    if (body.toString("latin1", start, start + 2) === "--") return fields;
    position = body.indexOf(Buffer.concat([Buffer.from("\r\n"), delimiter]), start);
    const head = body.indexOf(blankLine, start);
    if (position < 0 || head < 0 || head > position) break;
    const headers = body.toString("utf8", start, head);
    const name = /;\s*name="([^"]*)"/i.exec(headers)?.[1];
    if (name === undefined) throw malformed("a part has no name");
    if (/;\s*filename=/i.test(headers)) {
      throw ServerError.of(48, "NOT_IMPLEMENTED", "The embedded engine takes no external tables.");
    }
    fields.push([name, body.toString("utf8", head + blankLine.length, position)]);
    position += 2;
  }
  throw malformed("it ends too early");
}

function malformed(why: string): ServerError {
  return ServerError.of(36, "BAD_ARGUMENTS", `Cannot read the multipart body: ${why}`);
}
