import type { StructuredOutput } from "./structured-output.js";
import type { Worker } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { FairQueue, fromWireError } from "@heddle/concurrency";
import type { Sharer, Turn } from "@heddle/concurrency";
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
  readonly sharer: Sharer | undefined;
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

export interface ThreadOptions {
  limits: TimeLimits;
  /** Requests that are sent to the worker before the first of them has its reply, and of these those of one entity. */
  window: number;
  windowPerEntity: number;
}

/**
 * A worker thread that serves requests in turns by entity and key. It is replaced when it hangs, aborts or exits. The
 * oldest pending request is the cause and fails. The sessions of the others are restarted in the next worker with their
 * tokens.
 */
export interface GrammarThread {
  /** Starts the worker before the first request. */
  warmUp(): void;
  /** `before` is called when it is the request's turn; what it throws is the result. */
  ask(session: ThreadSession, what: "advance" | "verify", before?: () => void): Promise<GrammarWorkerValue>;
  /** Ends what the session waits for. The worker is replaced if it goes on with it for long. */
  closeSession(session: ThreadSession): void;
  /** Requests that wait or are served. */
  readonly load: number;
  close(): Promise<void>;
}

/** What is done for a closed session may go on for so long, which is cheaper than another worker. */
const graceMs = 1_000;
const waitingPerKey = 1_000;
const waiting = 10_000;

interface Pending {
  id: number;
  session?: ThreadSession;
  what: "start" | "advance" | "verify";
  compiles: boolean;
  before?: (() => void) | undefined;
  /** Set while the request is with the worker. */
  turn?: Turn<Pending>;
  began?: number;
  /** Removes the request from those that wait. */
  remove?: () => void;
  resolve(value: GrammarWorkerValue): void;
  reject(error: unknown): void;
}

export function grammarThread(
  data: GrammarWorkerData,
  { limits, window, windowPerEntity }: ThreadOptions,
): GrammarThread {
  const queue = new FairQueue<Pending>({
    perEntity: windowPerEntity,
    waitingPerKey,
    waiting,
    messages: {
      key: `${waitingPerKey} constraints of this key wait to be compiled or followed; try again later`,
      all: `${waiting} constraints wait to be compiled or followed; try again later`,
    },
  });
  /** Requests of open sessions. */
  const requests = new Set<Pending>();
  let worker: Worker | undefined;
  /** What the worker was sent, in that order. */
  let pending: Pending[] = [];
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;
  let closed = false;

  return {
    warmUp() {
      if (!worker && !closed) start();
    },
    async ask(session, what, before) {
      if (closed || session.closed) throw closedError();
      let request: Pending | undefined;
      try {
        return await new Promise<GrammarWorkerValue>((resolve, reject) => {
          request = { id: ++lastId, session, what, compiles: false, before, resolve, reject };
          requests.add(request);
          request.remove = queue.add(session.sharer, request);
          sendNext();
        });
      } finally {
        if (request) requests.delete(request);
      }
    },
    closeSession(session) {
      if (worker && session.worker === worker) post({ do: "close", session: session.id });
      session.closed = true;
      for (const request of requests) {
        if (request.session !== session) continue;
        request.remove?.();
        request.reject(closedError());
      }
      abandonLater(session);
    },
    get load() {
      return requests.size;
    },
    async close() {
      closed = true;
      const ending = worker;
      reset();
      for (const request of requests) request.reject(closedError());
      await ending?.terminate();
    },
  };

  function sendNext(): void {
    if (closed) return;
    while (pending.filter(({ what }) => what !== "start").length < window) {
      const turn = queue.take();
      if (turn === undefined) return;
      const request = turn.item;
      try {
        request.before?.();
        request.turn = turn;
        send(request);
      } catch (error) {
        turn.end(0);
        request.reject(error);
      }
    }
  }

  /** Replaces the worker if it works for a closed session for long. */
  function abandonLater(session: ThreadSession): void {
    if (!pending.some((request) => request.session === session)) return;
    const expire = (): void => {
      const [oldest] = pending;
      const isLong = performance.now() - (oldest?.began ?? Number.POSITIVE_INFINITY) >= graceMs;
      if (oldest?.session === session && isLong) restart(closedError());
      else abandonLater(session);
    };
    setTimeout(expire, graceMs).unref();
  }

  function send(request: Pending): void {
    const { session, what } = request;
    if (!session || what === "start") return;
    const thread = worker ?? start();
    const isNew = session.worker !== thread;
    request.compiles = isNew;
    const tokens = session.tokens.slice(isNew ? 0 : session.sentTokens);
    session.worker = thread;
    session.sentTokens = session.tokens.length;
    if (pending.length === 0) request.began = performance.now();
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
    if (request === undefined) return;
    if ("value" in reply) request.resolve(reply.value);
    else request.reject(fromWireError(reply.error));
    end(request);
    sendNext();
  }

  /** Ends the turn of a request with the time that it took. */
  function end({ turn, began }: Pending): void {
    turn?.end(began === undefined ? 0 : performance.now() - began);
  }

  /** Starts the time limit of the oldest request. */
  function watch(): void {
    clearTimeout(timer);
    const [request] = pending;
    if (!request) return;
    request.began ??= performance.now();
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
      for (const request of others) {
        request.reject(error);
        end(request);
      }
      sendNext();
      return;
    }
    oldest?.reject(oldest.compiles ? atConstraint(error, oldest.session?.output) : error);
    if (oldest) end(oldest);
    for (const request of others) {
      if (request.session?.closed) end(request);
      else send(request);
    }
    sendNext();
  }
}

/** Returns an error without a location with that of the field that holds the user's constraint. */
function atConstraint(error: HeddleError, output: StructuredOutput | undefined): HeddleError {
  const field = constraintField(output);
  if (error.loc !== undefined || field === undefined) return error;
  return error.with({ loc: [field] });
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
