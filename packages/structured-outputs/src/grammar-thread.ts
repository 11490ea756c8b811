import type { StructuredOutput } from "./structured-output.js";
import type { Worker } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { fromWireError } from "@heddle/threads";
import type {
  GrammarWorkerData,
  GrammarWorkerReply,
  GrammarWorkerRequest,
  GrammarWorkerValue,
} from "./grammar-worker-protocol.js";
import { startGrammarWorker } from "./start-grammar-worker.js";

/** A completion under a constraint, with the state to restart it in another thread. */
export interface ThreadSession {
  readonly id: number;
  readonly output: StructuredOutput;
  /** All accepted tokens. */
  readonly tokens: number[];
  /** The thread of the session. */
  worker?: Worker;
  /** How many of `tokens` were sent to that thread. */
  sentTokens: number;
  /** Its replies are no longer awaited. */
  closed?: boolean;
}

export interface TimeLimits {
  /** Limit for loading the library and the vocabulary. */
  startMs: number;
  compileMs: number;
  /** Limit for one token. */
  stepMs: number;
}

/**
 * A worker thread that is replaced when it hangs, aborts or exits. The oldest pending request is the cause and fails.
 * The sessions of the others are restarted in the next worker with their tokens.
 */
export interface GrammarThread {
  /** Starts the worker before the first request. */
  warmUp(): void;
  ask(session: ThreadSession, what: "advance" | "verify"): Promise<GrammarWorkerValue>;
  closeSession(session: ThreadSession): void;
  close(): Promise<void>;
}

interface Pending {
  id: number;
  session?: ThreadSession;
  what: "start" | "advance" | "verify";
  compiles: boolean;
  resolve(value: GrammarWorkerValue): void;
  reject(error: Error): void;
}

export function grammarThread(data: GrammarWorkerData, limits: TimeLimits): GrammarThread {
  let worker: Worker | undefined;
  let pending: Pending[] = [];
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;
  let closed = false;

  return {
    warmUp() {
      if (!worker && !closed) start();
    },
    ask(session, what) {
      return new Promise((resolve, reject) => {
        if (closed || session.closed) reject(closedError());
        else send({ id: ++lastId, session, what, compiles: false, resolve, reject });
      });
    },
    closeSession(session) {
      if (worker && session.worker === worker) post({ do: "close", session: session.id });
      session.closed = true;
    },
    async close() {
      closed = true;
      const ending = worker;
      const waiting = pending;
      reset();
      for (const request of waiting) request.reject(closedError());
      await ending?.terminate();
    },
  };

  function send(request: Pending): void {
    const { session, what } = request;
    if (!session || what === "start") return;
    const thread = worker ?? start();
    const isNew = session.worker !== thread;
    request.compiles = isNew;
    const tokens = session.tokens.slice(isNew ? 0 : session.sentTokens);
    session.worker = thread;
    session.sentTokens = session.tokens.length;
    pending.push(request);
    post({ do: what, id: request.id, session: session.id, tokens, output: isNew ? session.output : undefined });
    if (pending.length === 1) watch();
  }

  function post(request: GrammarWorkerRequest): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker?.postMessage(request);
  }

  function start(): Worker {
    const thread = startGrammarWorker(data);
    worker = thread;
    pending.push({ id: 0, what: "start", compiles: false, resolve: () => {}, reject: () => {} });
    watch();
    thread.on("message", (reply: GrammarWorkerReply) => {
      if (thread === worker) receive(reply);
    });
    thread.on("error", (error) => {
      if (thread === worker) restart(exitError(error));
    });
    thread.on("exit", () => {
      if (thread === worker) restart(new HeddleError("failed", "The constraint thread exited."));
    });
    return thread;
  }

  function receive(reply: GrammarWorkerReply): void {
    if ("error" in reply && (reply.broken || reply.id === 0)) {
      restart(fromWireError(reply.error));
      return;
    }
    const request = pending.shift();
    watch();
    if ("value" in reply) request?.resolve(reply.value);
    else request?.reject(fromWireError(reply.error));
  }

  /** Starts the time limit of the oldest request. */
  function watch(): void {
    clearTimeout(timer);
    const [request] = pending;
    if (!request) return;
    const limit = request.what === "start" ? limits.startMs : request.compiles ? limits.compileMs : limits.stepMs;
    const expire = (): void => {
      if (pending[0] === request) restart(timeoutError(request, limit));
    };
    // This thread may have been busy: replies that have already arrived are read before the limit applies.
    timer = setTimeout(() => setImmediate(() => setImmediate(expire)), limit);
  }

  function reset(): void {
    clearTimeout(timer);
    worker = undefined;
    pending = [];
  }

  function restart(error: HeddleError): void {
    const ending = worker;
    const [oldest, ...others] = pending;
    reset();
    void ending?.terminate();
    if (oldest?.what === "start") {
      // No constraint is the cause: all requests fail without a thread.
      for (const request of others) request.reject(error);
      return;
    }
    oldest?.reject(oldest.compiles ? atConstraint(error, oldest.session?.output) : error);
    for (const request of others) {
      if (request.session?.closed) request.reject(closedError());
      else send(request);
    }
  }
}

/** Returns an error without a location with that of the field that holds the user's constraint. */
function atConstraint(error: HeddleError, output: StructuredOutput | undefined): HeddleError {
  const field = constraintField(output);
  if (error.loc !== undefined || field === undefined) return error;
  return new HeddleError(error.code, error.message, { loc: [field], details: error.details });
}

function constraintField(output: StructuredOutput | undefined): string | undefined {
  const fields = {
    json_schema: "schema",
    json_object: undefined,
    regex: "regex",
    choice: "choices",
    grammar: "grammar",
  };
  return output && (output.type === "structural_tag" ? "tag" : fields[output.type]);
}

function closedError(): HeddleError {
  return new HeddleError("aborted", "The constraint was closed.");
}

function timeoutError({ what, compiles }: Pending, limit: number): HeddleError {
  const seconds = `${limit / 1000} s`;
  if (what === "start") return new HeddleError("failed", `The grammar library was not ready after ${seconds}.`);
  const work = compiles ? "compile" : what === "verify" ? "check" : "follow";
  return new HeddleError("too_large", `The constraint is too large: it took more than ${seconds} to ${work}.`);
}

function exitError(error: unknown): HeddleError {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
    return new HeddleError("too_large", "The constraint is too large: compiling it exceeded the memory limit.");
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new HeddleError("failed", `The constraint thread failed: ${reason}`);
}
