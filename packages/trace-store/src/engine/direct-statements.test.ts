import { Agent, createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directStatements } from "./direct-statements.js";
import type { DirectStatements } from "./direct-statements.js";

const directory = mkdtempSync(join(tmpdir(), "direct-"));
const socketPath = join(directory, "socket");
let respond: (response: ServerResponse) => Promise<void>;
const server = createServer((request, response) => {
  request.resume().on("end", () => void respond(response));
});
let direct: DirectStatements;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  direct = directStatements(new Agent({ socketPath, keepAlive: true } as object), "trace");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

const rows = [{ text: "żółć 🧵" }, { text: "a\r\nb" }, { n: 1 }];
const lines = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
const frame = (message: string) =>
  `\r\n__exception__\r\nabc\r\n${message}\n${message.length + 1} abc\r\n__exception__\r\n`;

/** Reads a stream whose response comes in two pieces. */
async function readSplit(bytes: Buffer, at: number, ends: "properly" | "with a lost connection" = "properly") {
  respond = async (response) => {
    response.write(bytes.subarray(0, at));
    await turn();
    response.write(bytes.subarray(at));
    await turn();
    if (ends === "properly") response.end();
    else response.destroy();
  };
  const read: unknown[] = [];
  const stream = direct.stream({ sql: "SELECT 1", params: {}, settings: {}, signal: undefined });
  try {
    for await (const row of stream) read.push(row);
  } catch (error) {
    return { read, error };
  }
  return { read };
}

describe("a stream, wherever the network cuts it,", () => {
  test("has each row once", async () => {
    for (let at = 1; at < lines.length; at++) expect(await readSplit(lines, at)).toEqual({ read: rows });
  });

  test("has the rows before an error, and the error", async () => {
    const message = "Code: 395. DB::Exception: no more. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)";
    const bytes = Buffer.concat([lines, Buffer.from(frame(message))]);
    for (let at = 1; at < bytes.length; at++) {
      const { read, error } = await readSplit(bytes, at);
      expect([at, read]).toEqual([at, rows]);
      expect(error).toMatchObject({ code: "395", message: expect.stringContaining("no more") });
    }
  });

  test("fails when the connection is lost", async () => {
    const { error } = await readSplit(lines, 5, "with a lost connection");
    expect(error).toMatchObject({ code: "ECONNRESET" });
  });
});

test("an error before the first row is thrown", async () => {
  respond = async (response) =>
    void response.writeHead(500).end("Code: 47. DB::Exception: what? (UNKNOWN_IDENTIFIER)\n");
  const statement = { sql: "SELECT what", params: {}, settings: {}, signal: undefined };
  const read = async () => {
    for await (const _ of direct.stream(statement)) continue;
  };
  await expect(read()).rejects.toMatchObject({ code: "47" });
  await expect(direct.rows(statement)).rejects.toMatchObject({ code: "47" });
});
