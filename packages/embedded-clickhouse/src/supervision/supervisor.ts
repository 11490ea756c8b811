import { EventEmitter } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { HostOptions } from "../messages.js";
import { releaseAddress } from "./address.js";
import type { Address } from "./address.js";
import { startHostProcess } from "./host-process.js";
import type { HostProcess } from "./host-process.js";
import { watch } from "./watchdog.js";

export interface HostState {
  status: "ready" | "restarting" | "closed";
  pid: number | undefined;
  restarts: number;
  lastError: string | undefined;
}

/** A host that has run this long has started successfully; one that ends sooner counts as a crash loop. */
const soundMs = 30_000;
const firstPauseMs = 250;
const longestPauseMs = 30_000;

/** Keeps one host running until `close`. Requests meanwhile fail to connect, at once. */
export class Supervisor {
  readonly events = new EventEmitter<{ restart: [] }>();
  #host: HostProcess | undefined;
  #restarts = 0;
  #lastError: string | undefined;
  #killedBecause: string | undefined;
  readonly #closing = new AbortController();
  #done: Promise<void> = Promise.resolve();

  readonly #options: Omit<HostOptions, "listen">;
  readonly #address: Address;
  readonly #log: (line: string) => void;

  constructor(options: Omit<HostOptions, "listen">, address: Address, log: (line: string) => void) {
    this.#options = options;
    this.#address = address;
    this.#log = log;
  }

  /** The first start; throws a HeddleError instead of trying again. */
  async start(): Promise<void> {
    const host = await this.#startOnce();
    this.#log(`engine host ready (process ${host.pid}, engine ${host.version})`);
    this.#done = this.#keepRunning(host);
  }

  state(): HostState {
    const closed = this.#closing.signal.aborted;
    return {
      status: closed ? "closed" : this.#host ? "ready" : "restarting",
      pid: this.#host?.pid,
      restarts: this.#restarts,
      lastError: this.#lastError,
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#host?.close();
    await this.#done;
    releaseAddress(this.#address);
  }

  async #startOnce(): Promise<HostProcess> {
    const address = this.#address;
    const listen =
      address.kind === "socket" ? { path: address.path } : { port: address.port, password: address.password };
    const host = await startHostProcess({ ...this.#options, listen });
    // A port that the system has picked stays the same over restarts: clients know it.
    if (address.kind === "port" && host.port !== undefined) address.port = host.port;
    this.#host = host;
    return host;
  }

  async #keepRunning(first: HostProcess): Promise<void> {
    const closing = this.#closing.signal;
    let pause = 0;
    for (let host: HostProcess | undefined = first; ;) {
      const startedAt = performance.now();
      if (host) {
        const watchdog = watch(host, (reason) => (this.#killedBecause = reason));
        const why = await host.exited;
        watchdog.stop();
        this.#host = undefined;
        if (closing.aborted) return;
        this.#fail(this.#killedBecause ?? why);
      }
      pause = performance.now() - startedAt > soundMs ? 0 : pause;
      await delay(pause, undefined, { signal: closing }).catch(() => undefined);
      if (closing.aborted) return;
      pause = Math.min(Math.max(pause * 2, firstPauseMs), longestPauseMs);
      host = await this.#restart();
    }
  }

  async #restart(): Promise<HostProcess | undefined> {
    try {
      const host = await this.#startOnce();
      if (this.#closing.signal.aborted) await host.close();
      this.#restarts++;
      this.#log(`engine host ready again (process ${host.pid})`);
      this.events.emit("restart");
      return host;
    } catch (error) {
      this.#fail(error instanceof HeddleError ? error.message : String(error));
      return undefined;
    }
  }

  #fail(reason: string): void {
    this.#lastError = reason;
    this.#killedBecause = undefined;
    this.#log(`engine host down: ${reason}`);
  }
}
