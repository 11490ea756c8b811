import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { createBrotliCompress, createDeflate, createGzip } from "node:zlib";
import type { ServerError } from "../engine/server-error.js";
import { statusOfError } from "./error-status.js";
import { contentTypeOf } from "./formats.js";

export interface QueryResponseHead {
  queryId: string;
  format: string;
  /** The request set `enable_http_compression`. */
  compress: boolean;
  timezone: string;
}

interface Summary {
  readRows?: number | undefined;
  readBytes?: number | undefined;
  writtenRows?: number | undefined;
  writtenBytes?: number | undefined;
  resultRows?: number | undefined;
  resultBytes?: number | undefined;
  elapsedNs: number;
}

/** Writes the response of one query; the head is sent with the first byte or at the end. */
export interface QueryResponse {
  begin(summary: Summary): void;
  /** Waits for the client when it reads slower than the engine writes. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  end(): void;
  /** Before `begin`: an error response. After it: the frame that marks the result as incomplete. */
  fail(error: ServerError): void;
}

export function createQueryResponse(
  request: IncomingMessage,
  response: ServerResponse,
  head: QueryResponseHead,
): QueryResponse {
  const exceptionTag = randomBytes(8).toString("hex");
  let output: Writable | undefined;

  response.setHeader("X-ClickHouse-Query-Id", headerText(head.queryId));
  response.setHeader("X-ClickHouse-Format", headerText(head.format));
  response.setHeader("X-ClickHouse-Timezone", head.timezone);
  response.setHeader("X-ClickHouse-Server-Display-Name", "heddle");
  response.setHeader("X-ClickHouse-Exception-Tag", exceptionTag);

  function open(): Writable {
    const encoding = head.compress ? acceptedEncoding(request) : undefined;
    const encoder = encoding && encoders[encoding]();
    if (!encoder) return response;
    response.setHeader("Content-Encoding", encoding);
    encoder.pipe(response);
    return encoder;
  }

  return {
    begin(summary) {
      response.setHeader("Content-Type", contentTypeOf(head.format));
      response.setHeader("X-ClickHouse-Summary", summaryText(summary));
      output = open();
    },
    async write(bytes, signal) {
      if (output && !output.write(bytes)) await once(output, "drain", { signal });
    },
    end() {
      output?.end();
    },
    fail(error) {
      if (output) {
        const text = `${error.message}\n`;
        const size = Buffer.byteLength(text);
        // One write, so that it arrives in one piece: the client looks for the frame at the end of a chunk.
        output.end(`\r\n__exception__\r\n${exceptionTag}\r\n${text}${size} ${exceptionTag}\r\n__exception__\r\n`);
        return;
      }
      response.statusCode = statusOfError(error.code);
      response.setHeader("Content-Type", "text/plain; charset=UTF-8");
      response.setHeader("X-ClickHouse-Exception-Code", String(error.code));
      output = open();
      output.end(`${error.message}\n`);
    },
  };
}

const encoders = {
  gzip: () => createGzip({ level: 3 }),
  deflate: () => createDeflate({ level: 3 }),
  br: () => createBrotliCompress(),
};

function acceptedEncoding(request: IncomingMessage): keyof typeof encoders | undefined {
  const accepted = (request.headers["accept-encoding"] ?? "").toLowerCase().split(/[\s,;]+/);
  return (["gzip", "deflate", "br"] as const).find((name) => accepted.indexOf(name) >= 0);
}

/** Both come from the request and may hold what no header can. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

function summaryText(summary: Summary): string {
  const counts = {
    read_rows: summary.readRows ?? 0,
    read_bytes: summary.readBytes ?? 0,
    written_rows: summary.writtenRows ?? 0,
    written_bytes: summary.writtenBytes ?? 0,
    total_rows_to_read: 0,
    result_rows: summary.resultRows ?? summary.writtenRows ?? 0,
    result_bytes: summary.resultBytes ?? summary.writtenBytes ?? 0,
    elapsed_ns: summary.elapsedNs,
  };
  // As a server writes it: every count is a string.
  return JSON.stringify(counts, (_key, value: unknown) => (typeof value === "number" ? String(value) : value));
}
