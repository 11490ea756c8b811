import { createHash, randomBytes } from "node:crypto";
import { openAsBlob } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { downloadArtifact, uploadArtifact } from "@heddle/client/artifacts";
import type { ArtifactProgress } from "@heddle/client/artifacts";
import { connectTraining } from "@heddle/client/training";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

/** A connection whose requests and responses the test can change. */
function connect(fetch: (request: Request) => Promise<Response> = service.fetch) {
  return connectTraining({ baseUrl: "http://in-process", fetch, apiKey: service.owner_key, retries: 2 });
}

function inNewProject() {
  const [entity = "", project = ""] = newProject().split("/");
  return { entity, project, name: "tutor" };
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("files on disk and in memory are sent with progress, and read back with progress", async () => {
  const directory = await mkdtemp(join(tmpdir(), "heddle-transfer-"));
  onTestFinished(async () => await rm(directory, { recursive: true }));
  // More than is hashed in memory before it is sent.
  const large = randomBytes(65 * 1024 * 1024);
  await writeFile(join(directory, "weights.bin"), large);
  const files = { "weights.bin": await openAsBlob(join(directory, "weights.bin")), "config.json": Buffer.from("{}") };
  const where = inNewProject();
  const up: ArtifactProgress[] = [];
  const onProgress = (progress: ArtifactProgress) => up.push(progress);
  const upload = { ...where, type: "lora", metadata: { step: 1 }, aliases: ["step1"], files };
  const { version, created } = await uploadArtifact(connect(), upload, { onProgress });
  expect(created).toBe(true);
  expect(version).toMatchObject({ version: "v0", file_count: 2, size_bytes: large.length + 2, metadata: { step: 1 } });
  expect(up.length).toBeGreaterThan(10);
  expect(up.map(({ transferred }) => transferred)).toEqual(
    up.map(({ transferred }) => transferred).toSorted((a, b) => a - b),
  );
  expect(up.at(-1)).toEqual({ path: "config.json", transferred: large.length + 2, total: large.length + 2 });

  const down: ArtifactProgress[] = [];
  const digests: Record<string, string> = {};
  for await (const { path, content } of downloadArtifact(
    connect(),
    { ...where, version: "step1" },
    {
      onProgress: (progress) => down.push(progress),
    },
  )) {
    digests[path] = createHash("sha256")
      .update(await readAll(content))
      .digest("hex");
  }
  expect(digests).toEqual({
    "config.json": createHash("sha256").update("{}").digest("hex"),
    "weights.bin": createHash("sha256").update(large).digest("hex"),
  });
  expect(down.at(-1)).toMatchObject({ transferred: large.length + 2, total: large.length + 2 });
});

test("content that the project has is not sent again, and an upload that broke is repeated", async () => {
  const where = { ...inNewProject(), type: "dataset" };
  let sent = 0;
  let failures = 1;
  const connection = connect(async (request) => {
    if (!request.url.includes("/v1/artifact-contents/") || request.url.endsWith("/find"))
      return await service.fetch(request);
    sent++;
    if (failures-- > 0) throw new TypeError("the connection broke");
    return await service.fetch(request);
  });
  const files = { "a.jsonl": Buffer.from("a"), "copy.jsonl": Buffer.from("a"), "b.jsonl": Buffer.from("b") };
  await uploadArtifact(connection, { ...where, files });
  expect(sent).toBe(3);
  const again = await uploadArtifact(connection, { ...where, files });
  expect([sent, again.created]).toEqual([3, false]);
  await uploadArtifact(connection, { ...where, files: { ...files, "c.jsonl": Buffer.from("c") } });
  expect(sent).toBe(4);
});

test("a download that breaks goes on where it broke", async () => {
  const where = inNewProject();
  const bytes = randomBytes(2 * 1024 * 1024);
  await uploadArtifact(connect(), { ...where, type: "lora", files: { a: bytes } });
  const ranges: (string | null)[] = [];
  const connection = connect(async (request) => {
    const response = await service.fetch(request);
    if (!request.url.includes("/file?")) return response;
    ranges.push(request.headers.get("range"));
    if (ranges.length > 1) return response;
    const reader = response.body?.getReader();
    const body = new ReadableStream({
      async pull(controller) {
        const { value } = (await reader?.read()) ?? {};
        controller.enqueue(value);
        await reader?.cancel();
        controller.close();
      },
    });
    return new Response(body, { status: 200 });
  });
  for await (const { content } of downloadArtifact(connection, { ...where, version: "latest", paths: ["a"] }))
    expect((await readAll(content)).equals(bytes)).toBe(true);
  expect(ranges).toEqual([null, expect.stringMatching(/^bytes=\d+-$/)]);
});

test("an upload and a download stop when they are aborted", async () => {
  const where = inNewProject();
  const files = { a: randomBytes(4 * 1024 * 1024) };
  const stop = new AbortController();
  const upload = uploadArtifact(
    connect(),
    { ...where, type: "lora", files },
    {
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("enough")),
    },
  );
  await expect(upload).rejects.toThrow("enough");
  await uploadArtifact(connect(), { ...where, type: "lora", files });
  const leave = new AbortController();
  const read = async () => {
    for await (const { content } of downloadArtifact(connect(), { ...where, version: "v0" }, { signal: leave.signal }))
      for await (const _ of content) leave.abort(new Error("enough"));
  };
  await expect(read()).rejects.toThrow("enough");
});
