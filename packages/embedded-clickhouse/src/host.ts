import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { openEngine } from "./engine/engine.js";
import type { EmbeddedEngine } from "./engine/engine.js";
import { loadEngineLibrary } from "./engine/library.js";
import type { EngineLibrary } from "./engine/library.js";
import { StatementServer } from "./frames/statement-server.js";
import { createEngineServer } from "./http/server.js";
import type { FromHost, HostOptions, ToHost } from "./messages.js";

// The engine host: the entry of the child process that holds the engine.

const lockWaitMs = 5000;
/** How long running requests may take to end before they are stopped. */
const drainMs = 10_000;

// Socket, data and backups are for this user alone.
process.umask(0o077);
// The parent decides when the host ends; a Ctrl-C in the terminal reaches both.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
// Without its parent the host is unused and would keep the directory locked. Acknowledged data is on disk.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

let running: { engine: EmbeddedEngine; server: Server; statements: StatementServer } | undefined;

process.on("message", (message: ToHost) => {
  if (message.type === "start") void start(message.options);
  else if (message.type === "probe") void probe();
  else void close();
});

async function start(options: HostOptions): Promise<void> {
  try {
    const library = await loadEngineLibrary().catch((error: unknown) => {
      throw new HeddleError("unsupported", textOf(error));
    });
    const engine = await openWhenFree(library, options);
    const statements = new StatementServer(engine);
    const server = createEngineServer(
      engine,
      statements,
      "password" in options.listen ? options.listen.password : undefined,
    );
    const port = await listen(server, options.listen);
    running = { engine, server, statements };
    send({ type: "ready", port, version: engine.version });
  } catch (error) {
    const code = error instanceof HeddleError ? error.code : "failed";
    send({ type: "failed", code, message: textOf(error) }, () => process.exit(1));
  }
}

/** An old host needs a moment to release the directory; that of another service keeps it. */
async function openWhenFree(library: EngineLibrary, { directory, memoryBytes }: HostOptions): Promise<EmbeddedEngine> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (let deadline = performance.now() + lockWaitMs; ; await delay(200)) {
    try {
      return await openEngine(library, directory, memoryBytes);
    } catch (error) {
      const owner = ownerOf(directory);
      if (owner === undefined) throw error;
      if (performance.now() > deadline) {
        if (endStoppedHost(owner)) {
          deadline = performance.now() + lockWaitMs;
          continue;
        }
        throw new HeddleError("conflict", `${directory} is in use by process ${owner}`);
      }
    }
  }
}

/** The living process that the engine's lock file names. */
function ownerOf(directory: string): number | undefined {
  try {
    const pid = Number(/^PID: (\d+)/m.exec(readFileSync(join(directory, "status"), "utf8"))?.[1]);
    if (!pid || pid === process.pid) return undefined;
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

/**
 * Kills a suspended host (SIGSTOP), which cannot notice that its parent has ended. A running parent would have killed
 * it already. Only where /proc shows both: what the process runs, and that it is suspended.
 */
function endStoppedHost(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The state follows the command, which is in parentheses and may contain some itself.
    if (stat[stat.lastIndexOf(")") + 2] !== "T") return false;
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    if (!command.includes("embedded-clickhouse") || !/host\.[jt]s/.test(command)) return false;
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

async function listen(server: Server, where: HostOptions["listen"]): Promise<number | undefined> {
  if ("path" in where) {
    rmSync(where.path, { force: true });
    server.listen(where.path);
  } else {
    server.listen(where.port, "127.0.0.1");
  }
  await once(server, "listening");
  const address = server.address();
  return address && typeof address === "object" ? address.port : undefined;
}

async function probe(): Promise<void> {
  try {
    await running?.engine.probe();
  } catch (error) {
    // An engine that is shutting down after a fatal error never recovers; other errors (memory) pass.
    if (/^Code: 236\b/.test(textOf(error))) return;
  }
  send({ type: "alive" });
}

/** Lets running requests end. The engine is never closed while it works: that aborts it. */
async function close(): Promise<void> {
  if (running) {
    const { server, engine, statements } = running;
    const drained = once(server, "close");
    server.close();
    statements.close();
    const late = setTimeout(() => {
      server.closeAllConnections();
      statements.destroy();
    }, drainMs);
    await drained;
    clearTimeout(late);
    await engine.close();
  }
  process.exit(0);
}

function send(message: FromHost, sent?: () => void): void {
  process.send?.(message, undefined, undefined, () => sent?.());
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
