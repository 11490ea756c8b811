import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { HeddleError } from "@heddle/errors";
import { entryModule } from "@heddle/concurrency";
import type { LivenessLimits } from "./liveness.js";
import { watchHeartbeat } from "./liveness.js";
import { heapExhausted, oomKillCount } from "./out-of-memory.js";
import type { Call } from "./pending-calls.js";
import { pendingCalls } from "./pending-calls.js";
import type { ChildMessage, Methods, ParentMessage, ParentMessageBatch } from "./protocol.js";
import { heartbeatDescriptor } from "./heartbeat.js";

/** Entry modules; they call `serve`. */
const entries = {
  trainer: new URL("./trainer-process.ts", import.meta.url),
  sampler: new URL("./sampler-process.ts", import.meta.url),
};

export interface ChildOptions {
  entry: keyof typeof entries;
  /** Name of the process in messages: "the training process". */
  title: string;
  /** Niceness relative to this process: 0 to 19. */
  niceness: number;
  limits: LivenessLimits;
  log: (line: string) => void;
}

/** A child process, from start to exit. */
export interface EngineProcess<M extends Methods<M>> {
  readonly pid: number | undefined;
  /** Calls a method of the process. Rejects with `failed` and the reason if the process exits before it responds. */
  call: Call<M>;
  /** Resolves when the process has exited, with the error that its pending calls got. */
  exited: Promise<HeddleError>;
  /** That error, after the process has exited. */
  readonly ended: HeddleError | undefined;
  kill(reason: string): void;
  /** Aborts running calls, then ends the process. Resolves when it has exited. */
  close(): Promise<void>;
}

/** Time for a closing process to exit before it is killed. */
const closeMs = 3000;
/** Messages larger than this are sent immediately instead of with the others of the event loop iteration. */
const maxBatchedBytes = 2 ** 20;
/** Time to wait for remaining stderr output after the process has exited. */
const stderrDrainMs = 1000;

/**
 * Starts a process that cannot outlive this one: it exits when the message channel closes or its heartbeat pipe has no
 * reader.
 */
export function startChild<M extends Methods<M>>({
  entry,
  title,
  niceness,
  limits,
  log,
}: ChildOptions): EngineProcess<M> {
  const oomKillsBefore = oomKillCount();
  const child = forkChild(entry, niceness);
  log(`${title} started (${child.pid})`);
  const stderr = logLines(child, (line) => log(`${title} (${child.pid}): ${line}`));
  let killReason: string | undefined;
  let closing = false;
  let ended: HeddleError | undefined;

  const kill = (reason: string): void => {
    killReason ??= reason;
    child.kill("SIGKILL");
  };
  let outgoing: ParentMessageBatch = [];
  const flush = (): void => {
    const messages = outgoing;
    outgoing = [];
    try {
      if (messages.length > 0 && child.connected) child.send(messages, () => undefined);
    } catch (error) {
      // For example an array whose buffer was transferred.
      const why = {
        code: "invalid" as const,
        message: `the parameters cannot be sent to another process: ${String(error)}`,
      };
      for (const message of messages) {
        if (message.type === "call") calls.receive({ type: "error", id: message.id, error: why });
      }
    }
  };
  const send = (message: ParentMessage, bytes = 0): void => {
    if (outgoing.push(message) === 1) setImmediate(flush);
    if (bytes > maxBatchedBytes) flush();
  };
  const calls = pendingCalls(send);
  const heartbeat = watchHeartbeat(limits, kill);
  child.on("message", (message: ChildMessage) => calls.receive(message));
  heartbeatPipe(child)?.on("data", heartbeat.beat);

  const exited = new Promise<HeddleError>((resolve) => {
    const end = (how: string): void => {
      heartbeat.stop();
      ended = closing
        ? new HeddleError("aborted", `${title} was closed`)
        : new HeddleError("failed", `${title} ${how}`);
      log(`${ended.message} (${child.pid})`);
      calls.end(ended);
      resolve(ended);
    };
    const onExit = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (ended) return;
      const how = signal ? `ended by ${signal}` : `exited with code ${code}`;
      if (killReason !== undefined) end(`was killed: ${killReason}`);
      else if (heapExhausted(stderr()) || wasOomKilled(signal, oomKillsBefore)) end(`ran out of memory (${how})`);
      else end(how);
    };
    child.on("error", (error) => end(`did not start: ${error.message}`));
    // `close` is emitted after the last line of stderr, but something else may hold stderr open: `exit` limits the
    // wait.
    child.on("close", onExit);
    child.on("exit", (code, signal) => void setTimeout(onExit, stderrDrainMs, code, signal).unref());
  });

  return {
    pid: child.pid,
    call: (method, params, options) => calls.call(method, params, options),
    exited,
    get ended() {
      return ended;
    },
    kill,
    async close() {
      closing = true;
      calls.abort();
      send({ type: "end" });
      const killTimer = setTimeout(() => child.kill("SIGKILL"), closeMs);
      await exited;
      clearTimeout(killTimer);
    },
  };
}

function forkChild(entry: keyof typeof entries, niceness: number): ChildProcess {
  const { url, execArgv } = entryModule(entries[entry]);
  return fork(fileURLToPath(url), [String(niceness)], {
    execArgv: [...execArgv],
    stdio: ["ignore", "ignore", "pipe", "ipc", "pipe"],
    serialization: "advanced",
  });
}

function heartbeatPipe(child: ChildProcess): Readable | undefined {
  const stream = child.stdio[heartbeatDescriptor];
  return stream && "read" in stream ? stream : undefined;
}

/** Passes each line of stderr on. Returns a function that returns the end of the text. */
function logLines(child: ChildProcess, log: (line: string) => void): () => string {
  let text = "";
  let line = "";
  child.stderr?.setEncoding("utf8").on("data", (data: string) => {
    text = (text + data).slice(-8192);
    const lines = (line + data).split("\n");
    line = (lines.pop() ?? "").slice(-4096);
    for (const each of lines) if (each.trim() !== "") log(each);
  });
  child.stderr?.on("end", () => {
    if (line.trim() !== "") log(line);
  });
  return () => text;
}

function wasOomKilled(signal: NodeJS.Signals | null, before: number | undefined): boolean {
  const now = oomKillCount();
  return signal === "SIGKILL" && before !== undefined && now !== undefined && now > before;
}
