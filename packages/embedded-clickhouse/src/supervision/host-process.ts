import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { HeddleError } from "@heddle/errors";
import { entryModule } from "@heddle/concurrency";
import { maxThreads } from "../engine/session-pool.js";
import type { FromHost, HostOptions, ToHost } from "../messages.js";

/** One process of the engine host, from its start to its exit. */
export interface HostProcess {
  pid: number | undefined;
  port: number | undefined;
  version: string;
  /** Resolves when the process has ended, with the known reason. */
  exited: Promise<string>;
  /** Resolves when the engine has responded to a query. */
  probe(): Promise<void>;
  /** Lets running requests end, then ends the process. */
  close(): Promise<void>;
  kill(): void;
}

/** Loading the tables of a large directory takes seconds; a start that takes longer than this has hung. */
const startMs = 120_000;
/** The host drains for up to 10 s; after this it is killed. */
const closeMs = 15_000;

/**
 * Throws `unsupported` when no engine loads on this platform, `conflict` when another process holds the directory, and
 * `failed`, with the last lines of the host's stderr, for all else that keeps it from starting.
 */
export async function startHostProcess(options: HostOptions): Promise<HostProcess> {
  const child = forkHost();
  const diagnostics = keepLastLines(child);
  let onAlive: (() => void) | undefined;

  const exited = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    // "close" comes after the last line of stderr.
    child.on("close", (code, signal) => {
      const how = signal ? `ended by ${signal}` : `exited with code ${code}`;
      resolve([how, ...diagnostics()].join("; "));
    });
  });
  const ready = new Promise<Extract<FromHost, { type: "ready" }>>((resolve, reject) => {
    child.on("message", (message: FromHost) => {
      if (message.type === "ready") resolve(message);
      else if (message.type === "alive") onAlive?.();
      else reject(new HeddleError(message.code, withDiagnostics(message)));
    });
    void exited.then((why) => reject(new HeddleError("failed", why)));
  });
  const withDiagnostics = ({ code, message }: Extract<FromHost, { type: "failed" }>): string =>
    code === "failed" ? [message, ...diagnostics()].join("; ") : message;
  const send = (message: ToHost): void => {
    if (child.connected) child.send(message, () => undefined);
  };

  send({ type: "start", options });
  const tooLate = setTimeout(() => child.kill("SIGKILL"), startMs);
  const { port, version } = await ready.finally(() => clearTimeout(tooLate));
  return {
    pid: child.pid,
    port,
    version,
    exited,
    probe: () =>
      new Promise((resolve) => {
        onAlive = resolve;
        send({ type: "probe" });
      }),
    async close() {
      send({ type: "close" });
      const late = setTimeout(() => child.kill("SIGKILL"), closeMs);
      await exited;
      clearTimeout(late);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function forkHost(): ChildProcess {
  const { url, execArgv } = entryModule(new URL("../host.ts", import.meta.url));
  return fork(fileURLToPath(url), [], {
    execArgv: [...execArgv],
    // Each session may block a thread of this pool; the rest is for files and streams.
    env: { ...process.env, UV_THREADPOOL_SIZE: String(maxThreads + 8) },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "json",
  });
}

/** The engine writes why it fails to stderr only: kept, and quoted when it matters. */
function keepLastLines(child: ChildProcess): () => string[] {
  const lines: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    lines.push(...text.split("\n").filter((line) => line.trim() !== ""));
    lines.splice(0, lines.length - 20);
  });
  return () => [...new Set(lines)].slice(-5);
}
