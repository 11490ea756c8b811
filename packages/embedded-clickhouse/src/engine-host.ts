import type { Agent } from "node:http";
import { resolve } from "node:path";
import { machineMemory } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { statementsAt } from "./frames/statements.js";
import type { Statements } from "./frames/statements.js";
import { socketAgent } from "./socket-agent.js";
import { chooseAddress, releaseAddress } from "./supervision/address.js";
import type { Address } from "./supervision/address.js";
import type { EngineHostOptions } from "./supervision/start-options.js";
import { Supervisor } from "./supervision/supervisor.js";
import type { HostState } from "./supervision/supervisor.js";

/** A running ClickHouse engine in a child process; it is restarted when it dies or hangs. */
export interface EngineHost {
  /** For a socket the host name is a placeholder; the agent of `clientOptions` decides where it goes. */
  url: string;
  socketPath: string | undefined;
  password: string | undefined;
  /** Spread into `createClient` of `@clickhouse/client`. Every call makes an agent of its own. */
  clientOptions(): EngineClientOptions;
  /** The faster way for what reads; undefined on a port. Every call makes connections of its own. */
  statements(): Statements | undefined;
  /** Both. */
  connection(): EngineClientOptions & { statements: Statements | undefined };
  state(): HostState;
  /** `restart`: a new process responds. Requests that were running have failed with connection errors. */
  on(event: "restart", listener: () => void): void;
  /** Lets running requests end (up to 10 s), then ends the engine. */
  close(): Promise<void>;
}

export interface EngineClientOptions {
  url: string;
  http_agent?: Agent;
  username?: string;
  password?: string;
}

/**
 * Starts the engine on a directory and resolves when it responds. Rejects with one line to show: `unsupported` when
 * there is no engine for this platform, `conflict` when the directory is in use (after 5 s of waiting for an old host),
 * `failed` with what the engine reported.
 */
export async function startEngineHost(options: EngineHostOptions): Promise<EngineHost> {
  const directory = resolve(options.directory);
  const address = chooseAddress(directory, options.listen ?? "socket");
  const memoryBytes = options.memoryBytes ?? Math.floor(machineMemory() / 2 / (options.hosts ?? 1));
  const supervisor = new Supervisor({ directory, memoryBytes }, address, options.log ?? (() => undefined));
  try {
    await supervisor.start();
  } catch (error) {
    releaseAddress(address);
    throw error instanceof HeddleError ? explain(error) : error;
  }
  const statements = () => (address.kind === "socket" ? statementsAt(address.path) : undefined);
  return {
    ...publicAddress(address),
    clientOptions: () => clientOptions(address),
    statements,
    connection: () => ({ ...clientOptions(address), statements: statements() }),
    state: () => supervisor.state(),
    on: (event, listener) => void supervisor.events.on(event, listener),
    close: () => supervisor.close(),
  };
}

function publicAddress(address: Address): Pick<EngineHost, "url" | "socketPath" | "password"> {
  return address.kind === "socket"
    ? { url: "http://localhost", socketPath: address.path, password: undefined }
    : {
        url: `http://127.0.0.1:${address.port}`,
        socketPath: undefined,
        password: address.password,
      };
}

function clientOptions(address: Address): EngineClientOptions {
  const { url, password } = publicAddress(address);
  if (address.kind === "socket") {
    return { url, http_agent: socketAgent(address.path) };
  }
  return { url, username: "default", password };
}

function explain(error: HeddleError): HeddleError {
  const platform = `${process.platform}-${process.arch}`;
  const text =
    error.code === "unsupported"
      ? `The embedded ClickHouse engine (chDB) does not run here (${platform}): ${firstLine(error)}. ` +
        `Set HEDDLE_CLICKHOUSE_URL to use a ClickHouse server instead.`
      : `The embedded ClickHouse engine did not start: ${error.message}`;
  return error.with({ message: text });
}

function firstLine(error: HeddleError): string {
  return (error.message.split("\n")[0] ?? "").replace(/\.$/, "");
}
