import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startS3Server } from "@heddle/blob-store/testing";
import { createTracingClient } from "@heddle/client/tracing";
import { openDatabase, postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../src/config/config-error.js";
import { readConfig } from "../src/config/config.js";
import { startService } from "../src/boot/start.js";
import { openTestService } from "./test-service.js";
import type { TestService } from "./test-service.js";

const bucket = "heddle-service";
const directory = mkdtempSync(join(tmpdir(), "heddle-remote-"));
const databases = postgresUrl === undefined ? undefined : postgresDatabases(postgresUrl);
let s3: Awaited<ReturnType<typeof startS3Server>>;
beforeAll(async () => {
  s3 = await startS3Server(bucket);
});
afterAll(async () => {
  await s3.close();
  await databases?.drop();
  rmSync(directory, { recursive: true, force: true });
});

const s3Settings = () => ({
  AWS_ACCESS_KEY_ID: s3.access.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.access.secretAccessKey,
  AWS_ENDPOINT_URL: s3.access.endpoint ?? "",
});
function settings(env: Record<string, string>) {
  return readConfig({
    HEDDLE_DATA_DIR: directory,
    HEDDLE_PORT: "0",
    HEDDLE_OTLP_GRPC_PORT: "off",
    ...s3Settings(),
    ...env,
  });
}
const writeLog = () => {};

describe(`a service with files in S3${databases === undefined ? "" : " and keys on Postgres"}`, () => {
  test("keeps both over a restart, and nothing of a file on its own disk", { timeout: 120_000 }, async () => {
    const env: Record<string, string> = {
      HEDDLE_DATA_DIR: mkdtempSync(join(directory, "restarted-")),
      HEDDLE_BLOBS_URL: `s3://${bucket}/files`,
    };
    if (databases !== undefined) env["HEDDLE_DATABASE_URL"] = await databases.make();
    const projectId = "local/remote";
    const first = await startService(settings(env), { writeLog });
    const client = (url: string) => createTracingClient({ baseUrl: url, apiKey: first.apiKey });
    const file = new File(["a file of the service"], "note.txt", { type: "text/plain" });
    const { digest } = await client(first.url).fileCreate({ project_id: projectId, file });
    await first.close();

    const second = await startService(settings(env), { writeLog });
    const content = await client(second.url).fileContent({ project_id: projectId, digest });
    expect(await new Response(content).text()).toBe("a file of the service");
    await second.close();
    const requests = await s3.requests();
    expect(requests.some((line) => line.startsWith(`PUT /${bucket}/files/sha256/`))).toBe(true);
  });

  test("says in one line at the start what is wrong with its backends", async () => {
    const refused = async (env: Record<string, string>, line: string) => {
      const start = startService(settings({ ...env, HEDDLE_DATA_DIR: join(directory, "new") }), { writeLog });
      const error: unknown = await start.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toHaveProperty("message", line);
    };
    await refused(
      { HEDDLE_BLOBS_URL: "s3://no-such-bucket" },
      'the file store refuses this service: S3 has no bucket "no-such-bucket": create it, or correct HEDDLE_BLOBS_URL',
    );
    await refused(
      { HEDDLE_DATABASE_URL: "postgres://ann:hush@127.0.0.1:9/heddle" },
      "the control plane does not respond: no response from the Postgres server at 127.0.0.1:9/heddle: connect ECONNREFUSED 127.0.0.1:9",
    );
    await refused(
      { HEDDLE_DATABASE_URL: `file://${directory}/no/such/control.db` },
      `the control-plane database ${directory}/no/such/control.db cannot be opened: ConnectionFailed("Unable to open connection to local database ${directory}/no/such/control.db: 14")`,
    );
  });

  test("replies 503 with Retry-After while S3 fails, and logs why", async () => {
    const service = await openTestService({ ...s3Settings(), HEDDLE_BLOBS_URL: `s3://${bucket}/trouble` });
    const upload = async () => {
      const body = new FormData();
      body.append("project_id", "local/remote");
      body.append("file", new File(["a file"], "note.txt"));
      return await responseTo(service, "/file/create", { body });
    };
    for (const [codes, reason] of [
      [[403], "the file store refuses this service"],
      [[503, 503, 503, 503], "the file store does not respond"],
    ] as const) {
      await s3.failNext(...codes);
      expect(await upload()).toEqual({ status: 503, retry_after: "1", body: { reason } });
    }
    expect(await upload()).toMatchObject({ status: 200 });
    expect(service.outages).toEqual([
      `the file store refuses this service: S3 denies access to the bucket "${bucket}" at ${s3.access.endpoint}: 403`,
      `the file store does not respond: no response from S3 at ${s3.access.endpoint}: status 503`,
    ]);
    await service.close();
  });

  test.runIf(databases !== undefined)(
    "replies 503 with Retry-After while Postgres refuses connections, and logs why",
    async () => {
      const url = new URL((await databases?.make()) ?? "");
      const name = url.pathname.slice(1);
      const service = await openTestService({ HEDDLE_DATABASE_URL: url.href });
      const secret = await service.key({ role: "read" });
      const read = async () =>
        await responseTo(service, "/call/read", {
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          body: JSON.stringify({ project_id: "acme/remote", id: "none" }),
        });
      expect(await read()).toMatchObject({ status: 200 });
      const admin = openDatabase(postgresUrl ?? "");
      await admin.run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await admin.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
      // A key is believed for a second.
      const busy = { status: 503, retry_after: "1", body: { reason: "the control plane does not respond" } };
      await expect.poll(read, { timeout: 10_000 }).toEqual(busy);
      expect(service.outages).toContainEqual(
        `the control plane does not respond: the Postgres server at ${url.host}/${name} is not ready: database "${name}" is not currently accepting connections`,
      );
      await admin.run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      expect(await read()).toMatchObject({ status: 200 });
      expect(service.unexpected).toEqual([]);
      await admin.close();
      await service.close();
    },
  );
});

async function responseTo(service: TestService, path: string, request: Omit<RequestInit, "method">) {
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const response = await service.fetch(`http://in-process${path}`, { method: "POST", headers, ...request });
  const body: unknown = await response.json();
  return { status: response.status, retry_after: response.headers.get("retry-after"), body };
}
