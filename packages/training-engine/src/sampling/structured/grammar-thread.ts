import type { Worker } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { fromWireError } from "../../wire-error.js";
import type { StructuredOutput } from "../../port.js";
import type {
  GrammarWorkerData,
  GrammarWorkerReply,
  GrammarWorkerRequest,
  GrammarWorkerValue,
} from "./grammar-worker-protocol.js";
import { startGrammarWorker } from "./start-grammar-worker.js";

/** A completion under a constraint, with all that is needed to begin it anew in another thread. */
export interface ThreadSession {
  readonly id: number;
  readonly output: StructuredOutput;
  /** All tokens taken so far. */
  readonly tokens: number[];
  /** The thread that knows it, and how many of `tokens` that thread was told. */
  worker?: Worker;
  sentTokens: number;
  /** Nobody waits for its answers any more. */
  closed?: boolean;
}

export interface TimeLimits {
  /** Until the library is loaded and has read the vocabulary. */
  startMs: number;
  compileMs: number;
  /** For one token. */
  stepMs: number;
}

/**
 * One worker, replaced when it hangs, aborts or dies. The oldest request without an answer is to blame and fails; the sessions
 * of the others begin anew in the next worker with the tokens they had.
 */
export interface GrammarThread {
  /** Starts the worker before anybody asks. */
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
      if (thread === worker) settle(reply);
    });
    thread.on("error", (error) => {
      if (thread === worker) restart(exitError(error));
    });
    thread.on("exit", () => {
      if (thread === worker) restart(new HeddleError("failed", "The thread that reads constraints ended by itself."));
    });
    return thread;
  }

  function settle(reply: GrammarWorkerReply): void {
    if ("error" in reply && (reply.broken || reply.id === 0)) {
      restart(fromWireError(reply.error));
      return;
    }
    const request = pending.shift();
    watch();
    if ("value" in reply) request?.resolve(reply.value);
    else request?.reject(fromWireError(reply.error));
  }

  /** Gives the oldest request its time. */
  function watch(): void {
    clearTimeout(timer);
    const [request] = pending;
    if (!request) return;
    const limit = request.what === "start" ? limits.startMs : request.compiles ? limits.compileMs : limits.stepMs;
    const expire = (): void => {
      if (pending[0] === request) restart(timeoutError(request, limit));
    };
    // This thread may have been busy itself: an answer that already lies there is read before the limit counts.
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
      // Nobody's constraint is to blame: without a thread nothing can be answered.
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
    return new HeddleError(
      "too_large",
      "The constraint is too large: reading it took more memory than there is for it.",
    );
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new HeddleError("failed", `The thread that reads constraints died: ${reason}`);
}
