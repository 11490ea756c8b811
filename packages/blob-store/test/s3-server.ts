import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { S3Access } from "../src/index.js";

/** Starts an S3 server with one bucket, as a process of its own over a temporary directory. */
export async function startS3Server(bucket: string) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-s3-"));
  const program = fileURLToPath(new URL("s3-process.ts", import.meta.url));
  const server = fork(program, [directory, bucket], { execArgv: ["--import", import.meta.resolve("tsx")] });
  const [address] = await Promise.race([
    once(server, "message") as Promise<[AddressInfo]>,
    once(server, "exit").then(([code]) => {
      throw new Error(`the S3 server exited with code ${code}`);
    }),
  ]);
  const endpoint = `http://127.0.0.1:${address.port}`;
  const access: S3Access = { endpoint, region: "us-east-1", accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  const uploads = join(directory, bucket, "._S3rver_uploads");
  return {
    access,
    /** Ids of uploads that were begun and neither completed nor aborted. */
    unfinished: (): string[] => (existsSync(uploads) ? readdirSync(uploads) : []),
    /** Methods and paths of everything that was asked for so far. */
    async requests(): Promise<string[]> {
      const response = await fetch(`${endpoint}/-/requests`);
      return (await response.json()) as string[];
    },
    /** Makes an object, or an unfinished upload, two days old. */
    age(what: { key: string } | { upload: string }): void {
      const then = Date.now() / 1000 - 172_800;
      const path = "key" in what ? `${what.key}._S3rver_object` : join("._S3rver_uploads", what.upload, "key");
      utimesSync(join(directory, bucket, path), then, then);
    },
    /** Stops the process, or lets it go on: it still accepts connections and responds to nothing. */
    stop: (): boolean => server.kill("SIGSTOP"),
    resume: (): boolean => server.kill("SIGCONT"),
    /**
     * Responds to the next requests with these status codes; 0 breaks the connection, -1 breaks it within the response.
     */
    async failNext(...codes: number[]): Promise<void> {
      await fetch(`${endpoint}/-/failures`, { method: "POST", body: JSON.stringify(codes) });
    },
    async close(): Promise<void> {
      server.kill("SIGKILL");
      if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
