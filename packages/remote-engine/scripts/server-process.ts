import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "@heddle/tools/free-port";

export interface ServerProcess {
  url: string;
  close(): Promise<void>;
}

export interface ServerCommand {
  title: string;
  command: (port: number) => string[];
  environment: Record<string, string>;
  /** Path that responds with 200 when the server is ready. */
  healthPath: string;
}

/** A large package that is imported for the first time takes minutes. */
const startLimitMs = 600_000;

/** Starts a server on a free port and waits until it is ready. Rejects with its last output when it ends before. */
export async function startServer({ title, command, environment, healthPath }: ServerCommand): Promise<ServerProcess> {
  const port = await freePort();
  const [program = "", ...parameters] = command(port);
  const child = spawn(program, parameters, {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], HF_HUB_OFFLINE: "1", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: these servers start further processes.
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4000)));
  }
  const exited = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group has ended.
    }
  };
  const close = async (): Promise<void> => {
    signalGroup("SIGTERM");
    await Promise.race([exited, delay(15_000, undefined, { ref: false })]);
    signalGroup("SIGKILL");
  };
  const limit = Date.now() + startLimitMs;
  for (;;) {
    const isReady = await fetch(`${url}${healthPath}`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, close };
    if (child.exitCode !== null || Date.now() > limit) {
      await close();
      throw new Error(`${title} did not start:\n${output}`);
    }
    await delay(500);
  }
}
