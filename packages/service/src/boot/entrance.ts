import type { HttpServer } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import type { Listening } from "@heddle/server-stub/node";
import type { Config } from "../config/config.js";
import { alive, livePath } from "../http/live-route.js";
import { listenError } from "./listening.js";

/** Listens in place of a service whose stores do not respond yet: it lives, is not ready, and says what it waits for. */
export class Entrance {
  readonly #config: Config;
  #listening: Listening | undefined;
  #reason = "";

  constructor(config: Config) {
    this.#config = config;
  }

  /** Listens, and tells clients this reason, which names no hosts. Throws a `ConfigError` where the port cannot be had. */
  async waitsFor(reason: string): Promise<void> {
    this.#reason = `The service is starting: ${reason}`;
    const { host, port } = this.#config;
    this.#listening ??= await listen(this.#server, { host, port, maxConnections: 64 }).catch((error: unknown) => {
      throw listenError(error, { host, port }, { host: "HEDDLE_HOST", port: "HEDDLE_PORT" });
    });
  }

  /** Leaves the port to the service. */
  async close(): Promise<void> {
    await this.#listening?.close(0);
    this.#listening = undefined;
  }

  readonly #server: HttpServer = async ({ target }) => {
    if (target.split("?", 1)[0] === livePath) return alive;
    return {
      status: 503,
      headers: { "content-type": "application/json", "retry-after": "1", connection: "close" },
      body: JSON.stringify({ reason: this.#reason, detail: this.#reason }),
      drain: true,
    };
  };
}
