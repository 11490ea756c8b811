import { createServer, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { engineQuery } from "./engine-query.js";
import { openHeddle } from "./heddle-process.js";

/**
 * A real service whose engine host belongs to the test: everything between the two passes through here, so that an
 * response can be lost, or held back, at exactly one statement.
 */
export async function openHarness({ openFiles, ...options }: { memoryBytes?: number; openFiles?: number } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-harness-"));
  const host = await startEngineHost({ directory, ...options });
  const socketPath = host.socketPath ?? "";
  let killAt: string | undefined;
  let held: Promise<unknown> | undefined;
  let waiting = 0;
  let full = false;

  const proxy = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await collect(incoming);
      if (held !== undefined && isInsert(incoming)) {
        waiting += 1;
        await held;
        waiting -= 1;
      }
      if (full && isInsert(incoming, "")) {
        outgoing.writeHead(500, { "x-clickhouse-exception-code": "243" }).end(noSpace);
        return;
      }
      const forwarded = request({ socketPath, path: incoming.url, method: incoming.method, headers: incoming.headers });
      forwarded.end(body);
      const [response] = (await once(forwarded, "response")) as [IncomingMessage];
      const bytes = await collect(response);
      if (killAt !== undefined && isInsert(incoming, `${killAt} `)) {
        // The engine has committed and said so; the response is lost.
        killAt = undefined;
        process.kill(host.state().pid ?? 0, "SIGKILL");
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(response.statusCode ?? 500, response.headers).end(bytes);
    })().catch(() => incoming.socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const heddle = await openHeddle({
    env: { HEDDLE_CLICKHOUSE_URL: `http://127.0.0.1:${address.port}` },
    ...(openFiles !== undefined && { openFiles }),
  });

  return {
    heddle,
    url: heddle.url,
    query: (sql: string) => engineQuery(socketPath, sql),
    /** Kills the engine host between its next commit to this table and the response. */
    killAfterCommitTo(table: string): void {
      killAt = table;
    },
    /** The kill has happened, and a new engine responds. */
    async killed(): Promise<void> {
      const pending = () => killAt !== undefined || host.state().status !== "ready";
      while (pending()) await delay(20);
    },
    /** Holds back every insert until the function returned is called. */
    holdInserts(): () => void {
      let release = () => {};
      held = new Promise<void>((resolve) => (release = resolve));
      return () => {
        held = undefined;
        release();
      };
    },
    /** How many inserts are held back now. */
    heldInserts: () => waiting,
    /** Fails every insert, into whatever table, as an engine does whose disk is full. */
    setFull(now: boolean): void {
      full = now;
    },
    async close(): Promise<void> {
      await heddle.remove();
      proxy.closeAllConnections();
      proxy.close();
      await host.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const noSpace = "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)\n";

/** An insert into a table whose name begins so. */
function isInsert({ url }: IncomingMessage, table = "call"): boolean {
  const query = new URL(url ?? "/", "http://engine").searchParams.get("query") ?? "";
  return query.startsWith(`INSERT INTO ${table}`);
}

async function collect(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
