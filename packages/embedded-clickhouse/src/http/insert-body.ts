import type { SessionThread } from "../engine/session-thread.js";
import type { SessionNeeds } from "../engine/worker-protocol.js";
import { ServerError } from "../engine/server-error.js";
import type { Execution } from "./execution.js";
import { isLinePerRow } from "./formats.js";

const newline = 0x0a;
/** From this size on, data of line formats goes to the engine in several inserts (a server, too, cuts into blocks). */
const cutBytes = 64 * 1024 * 1024;
const maxUncutBytes = 512 * 1024 * 1024;

interface Inserted {
  writtenRows: number;
  writtenBytes: number;
}

/** Sends the data of an INSERT to the engine while it arrives; at most `cutBytes` and one row are held. */
export async function insertBody(
  thread: SessionThread,
  session: SessionNeeds,
  { sql, data, statement }: Execution,
): Promise<Inserted> {
  const total: Inserted = { writtenRows: 0, writtenBytes: 0 };
  const mayCut = statement.format !== undefined && isLinePerRow(statement.format);
  let chunks: Buffer[] = [];
  let size = 0;

  async function send(bytes: Buffer): Promise<void> {
    refuseEmptyLine(bytes);
    const { written } = await thread.run({ do: "insert", session, sql, bytes });
    total.writtenRows += written?.rowsWritten ?? 0;
    total.writtenBytes += written?.bytesWritten ?? 0;
  }

  if (data) {
    for await (const chunk of data as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (mayCut && size >= cutBytes && chunk.includes(newline)) {
        const all = Buffer.concat(chunks);
        const cut = all.lastIndexOf(newline) + 1;
        await send(all.subarray(0, cut));
        chunks = [all.subarray(cut)];
        size = all.byteLength - cut;
      } else if (!mayCut && size > maxUncutBytes) {
        const text = `The embedded engine takes at most ${maxUncutBytes} bytes of this format in one insert.`;
        throw ServerError.of(48, "NOT_IMPLEMENTED", text);
      }
    }
  }
  const rest = Buffer.concat(chunks);
  const inlineData = statement.format === undefined;
  if (inlineData || rest.byteLength > 0) await send(rest);
  return total;
}

/**
 * The engine is handed statement and data as one text, and takes what follows an empty line as a statement of its own:
 * text of users must never be run. Formats that escape line feeds have no empty lines.
 */
function refuseEmptyLine(bytes: Buffer): void {
  if (bytes[0] !== newline && !bytes.includes("\n\n")) return;
  const text = "The embedded engine takes no data with an empty line; TabSeparated escapes line feeds.";
  throw ServerError.of(48, "NOT_IMPLEMENTED", text);
}
