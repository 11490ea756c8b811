import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startS3Server } from "@heddle/blob-store/testing";
import { createTracingClient } from "@heddle/client/tracing";
import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../src/config.js";
import { startService } from "../src/start.js";

const bucket = "heddle-service";
const directory = mkdtempSync(join(tmpdir(), "heddle-grown-"));
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

function settings(env: Record<string, string>) {
  return readConfig({
    HEDDLE_DATA_DIR: directory,
    HEDDLE_PORT: "0",
    AWS_ACCESS_KEY_ID: s3.access.access_key_id,
    AWS_SECRET_ACCESS_KEY: s3.access.secret_access_key,
    AWS_ENDPOINT_URL: s3.access.endpoint,
    ...env,
  });
}
const log = () => {};

describe(`a service with files in S3${databases === undefined ? "" : " and keys on Postgres"}`, () => {
  test("keeps both over a restart, and nothing of a file on its own disk", async () => {
    const env: Record<string, string> = { HEDDLE_BLOBS_URL: `s3://${bucket}/files` };
    if (databases !== undefined) env["HEDDLE_DATABASE_URL"] = await databases.make();
    const project_id = "local/grown";
    const first = await startService(settings(env), { log });
    const client = (url: string) => createTracingClient({ baseUrl: url, apiKey: first.api_key });
    const file = new File(["a file of the service"], "note.txt", { type: "text/plain" });
    const { digest } = await client(first.url).fileCreate({ project_id, file });
    await first.close();

    const second = await startService(settings(env), { log });
    const content = await client(second.url).fileContent({ project_id, digest });
    expect(await new Response(content).text()).toBe("a file of the service");
    await second.close();
    const requests = await s3.requests();
    expect(requests.some((line) => line.startsWith(`PUT /${bucket}/files/sha256/`))).toBe(true);
  });

  test("says in one line at the start what is wrong with its back ends", async () => {
    const refused = async (env: Record<string, string>, line: string) =>
      await expect(startService(settings(env), { log })).rejects.toThrow(new ConfigError(line));
    await refused(
      { HEDDLE_BLOBS_URL: "s3://no-such-bucket" },
      'S3 has no bucket "no-such-bucket": make it, or mend HEDDLE_BLOBS_URL',
    );
    await refused(
      { HEDDLE_DATABASE_URL: "postgres://ann:hush@127.0.0.1:9/heddle" },
      "no answer from the Postgres server at 127.0.0.1:9/heddle: connect ECONNREFUSED 127.0.0.1:9",
    );
  });
});
