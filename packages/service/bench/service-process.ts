import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childrenOf } from "./process-usage.js";

export interface ServiceProcess {
  url: string;
  /** The owner key. */
  key: string;
  pid: number;
  /** Makes a key with the command line, and returns its secret. */
  createKey(entity: string, role: "write" | "read"): string;
  /** The engine host, a child of the service. */
  enginePid(): number;
  /**
   * Sends a statement to the engine of the service, bypassing the service: rows of `body` go into an INSERT. Returns
   * the text of the response.
   */
  engine(sql: string, body?: Buffer, settings?: Record<string, string>): Promise<string>;
  /** With SIGTERM by default. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ServiceOptions {
  env?: Record<string, string | undefined>;
  /** Arguments of node, as `--cpu-prof`. */
  nodeArguments?: string[];
  /** Of which built checkout; default this one. */
  checkout?: string | undefined;
  /** The data directory; default an empty one, which `stop` removes. */
  directory?: string | undefined;
}

const thisCheckout = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Starts the built service as `pnpm start` does, on a free port.
 */
export async function startServiceProcess({
  env,
  nodeArguments = [],
  checkout = thisCheckout,
  directory: kept,
}: ServiceOptions = {}): Promise<ServiceProcess> {
  const main = join(checkout, "packages/service/dist/main.js");
  const directory = kept ?? mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const child = spawn(process.execPath, ["--max-semi-space-size=64", ...nodeArguments, main, "serve"], {
    env: {
      PATH: process.env["PATH"],
      HEDDLE_DATA_DIR: directory,
      HEDDLE_PORT: "0",
      HEDDLE_OTLP_GRPC_PORT: "off",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = child.pid ?? 0;
  // A bench that fails or is stopped leaves nothing.
  process.once("exit", () => child.kill());
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = once(child, "exit");
  while (!printed.includes("/docs\n\n")) {
    await Promise.race([once(child.stdout, "data"), ended]);
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}; is it built?`);
  }
  const field = (name: string, text = printed) => new RegExp(`${name}\\s+(\\S+)`).exec(text)?.[1] ?? "";
  const agent = new Agent(socketOf(join(directory, "clickhouse", "engine.sock")));
  return {
    url: field("listening on"),
    key: env?.["HEDDLE_API_KEY"] ?? readFileSync(join(directory, "api-key"), "utf8").trim(),
    pid,
    createKey(entity, role) {
      const keys = ["keys", "create", "--user", entity, "--entity", entity, "--role", role];
      const env = { PATH: process.env["PATH"], HEDDLE_DATA_DIR: directory };
      const output = spawnSync(process.execPath, [main, ...keys], { env, encoding: "utf8" }).stdout;
      return field("secret", output);
    },
    enginePid: () => childrenOf(pid)[0] ?? 0,
    engine: (sql, body, settings) => askEngine(agent, sql, body, settings),
    async stop(signal = "SIGTERM") {
      agent.destroy();
      child.kill(signal);
      await ended;
      if (kept === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

function socketOf(socketPath: string) {
  return { socketPath, keepAlive: true };
}

/** Any insert waits until it is on disk. */
const durableSettings = { async_insert: "0", max_partitions_per_insert_block: "0" };

/** The further settings of the store's inserts. */
export const storeSettings = {
  input_format_parallel_parsing: "0",
  max_insert_block_size: "1000000",
  min_insert_block_size_rows: "1000000",
  min_insert_block_size_bytes: "268435456",
  optimize_on_insert: "0",
};

function askEngine(
  agent: Agent,
  sql: string,
  body: Buffer | undefined,
  settings: Record<string, string> = {},
): Promise<string> {
  const query = new URLSearchParams({ ...durableSettings, ...settings, query: sql });
  const path = `/?${query.toString()}`;
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, method: "POST", path }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(text));
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
