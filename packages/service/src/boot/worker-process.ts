import cluster from "node:cluster";
import type { Worker } from "node:cluster";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import type { Running } from "./start.js";

/** What a worker tells once it listens. */
export type WorkerReady = Pick<Running, "url" | "metricsUrl" | "otlpGrpcUrl" | "notTrained">;
/** What a worker tells the process that has started it. */
export type WorkerMessage = { ready: WorkerReady } | { failed: string };

interface WorkerOptions {
  position: number;
  env: Record<string, string>;
  log: (line: string) => void;
  /** Called when it has ended by itself, before another one is started. */
  onEnded: (pid: number) => Promise<void>;
}

/** After one that could not start, or has ended. */
const pauseMs = 1000;

/** Keeps one worker running until `stop`. */
export class WorkerProcess {
  readonly #options: WorkerOptions;
  #worker: Worker | undefined;
  #isStopping = false;
  readonly #stopping = new AbortController();
  #done: Promise<void> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Resolves when it listens. Rejects with what it says when it cannot start at all. */
  async start(): Promise<WorkerReady> {
    const { ready, ended } = this.#fork();
    const first = await ready;
    this.#done = this.#keepRunning(ended);
    return first;
  }

  /** Lets it finish what it has accepted. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopping.abort();
    const worker = this.#worker;
    if (worker !== undefined && !worker.isDead()) {
      const ended = once(worker, "exit");
      worker.process.kill("SIGTERM");
      await ended;
    }
    await this.#done;
  }

  #fork(): { ready: Promise<WorkerReady>; ended: Promise<string> } {
    // From source in development, compiled where it is installed.
    const exec = fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url));
    // Workers take connections themselves. One that this process hands to a worker that dies before it has it is never closed.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec, args: ["serve"] });
    const worker = cluster.fork(this.#options.env);
    this.#worker = worker;
    const ended = once(worker, "exit").then(([code, signal]) => (signal ? `signal ${signal}` : `status ${code}`));
    const ready = new Promise<WorkerReady>((resolve, reject) => {
      worker.on("message", (message: WorkerMessage) => {
        if ("ready" in message) resolve(message.ready);
        else reject(new Error(message.failed));
      });
      void ended.then((how) => reject(new Error(`worker ${this.#options.position} has ended with ${how}`)));
    });
    ready.catch(() => undefined);
    return { ready, ended };
  }

  async #keepRunning(first: Promise<string>): Promise<void> {
    const { position, log, onEnded } = this.#options;
    for (let ended = first; ;) {
      const how = await ended;
      if (this.#isStopping) return;
      log(`worker ${position} has ended with ${how}: starting another one`);
      await onEnded(this.#worker?.process.pid ?? 0).catch(() => undefined);
      await delay(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      ended = this.#fork().ended;
    }
  }
}
