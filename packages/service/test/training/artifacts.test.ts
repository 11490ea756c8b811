import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import type { TrainingClient } from "@heddle/client/training";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService();
  client = service.training();
});
afterAll(() => service.close());

const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const inProject = (projectId = newProject()) => {
  const [entity = "", project = ""] = projectId.split("/");
  return { entity, project };
};

/** Sends a text and commits it as a version of one file. */
async function commit(where: { entity: string; project: string }, text: string, more: object = {}) {
  const content = await client.uploadArtifactContent({ ...where, body: text });
  const files = [{ path: "train.jsonl", sha256: content.sha256 }];
  return await client.commitArtifact({ ...where, name: "data", type: "dataset", files, ...more });
}

test("what is sent and committed is listed and read back, by version, alias and digest", async () => {
  const where = inProject();
  const metadata = { format: "jsonl", num_trajectories: 2 };
  const { version, created } = await commit(where, "hello", { metadata, aliases: ["reviewed"], description: "two" });
  expect(created).toBe(true);
  expect(version).toMatchObject({
    uri: `heddle-artifact:///${where.entity}/${where.project}/data:v0`,
    name: "data",
    type: "dataset",
    version: "v0",
    metadata,
    description: "two",
    size_bytes: 5,
    file_count: 1,
    aliases: ["latest", "reviewed"],
  });
  for (const selector of ["v0", "latest", "reviewed", version.digest]) {
    const named = { ...where, name: "data", version: selector };
    expect(await client.getArtifactVersion(named)).toEqual(version);
    expect((await client.listArtifactFiles(named)).files).toEqual([
      { path: "train.jsonl", sha256: sha256("hello"), md5: "5d41402abc4b2a76b9719d911017c592", size_bytes: 5 },
    ]);
    const bytes = await client.downloadArtifactFile({ ...named, path: "train.jsonl" });
    expect(Buffer.from(bytes).toString()).toBe("hello");
  }
  expect(await commit(where, "hello")).toEqual({ created: false, version });
  await commit(where, "more", { deduplicate: false });
  const versions = await all(client.listArtifactVersions({ ...where, name: "data", limit: 1 }));
  expect(versions.map(({ version: name, aliases }) => [name, aliases])).toEqual([
    ["v0", ["reviewed"]],
    ["v1", ["latest"]],
  ]);
  const artifacts = await all(client.listArtifacts({ ...where, type: "dataset" }));
  expect(artifacts).toEqual([await client.getArtifact({ ...where, name: "data" })]);
  expect(await all(client.listArtifacts({ ...where, type: "lora" }))).toEqual([]);

  await client.setArtifactAlias({ ...where, name: "data", alias: "reviewed", version: "latest" });
  await client.deleteArtifactVersion({ ...where, name: "data", version: "reviewed" });
  expect(await client.getArtifactVersion({ ...where, name: "data", version: "latest" })).toMatchObject({
    version: "v0",
    aliases: ["latest"],
  });
  await client.setArtifactAlias({ ...where, name: "data", alias: "best", version: "v0" });
  await client.deleteArtifactAlias({ ...where, name: "data", alias: "best" });
  await client.deleteArtifact({ ...where, name: "data" });
  await expect(client.getArtifact({ ...where, name: "data" })).rejects.toMatchObject({ status: 404 });
});

test("a commit that is carried out late, after other ones, is the version that it was", async () => {
  const where = inProject();
  const retryId = randomUUID();
  const files = async (body: string) => [
    { path: "train.jsonl", sha256: (await client.uploadArtifactContent({ ...where, body })).sha256 },
  ];
  const version = { ...where, name: "data", type: "dataset", metadata: { round: 1 } };
  const first = await client.commitArtifact({ ...version, files: await files("one") }, { retryId });
  await client.commitArtifact({ ...version, files: await files("two") });
  const late = await client.commitArtifact({ ...version, files: await files("one") }, { retryId });
  expect(late).toMatchObject({ created: true, version: { id: first.version.id, version: "v0" } });
  expect(await all(client.listArtifactVersions({ ...where, name: "data" }))).toHaveLength(2);
  const otherRequest = client.commitArtifact({ ...version, files: await files("three") }, { retryId });
  await expect(otherRequest).rejects.toMatchObject({ status: 409 });
});

test.each(["计算", "агент", "café", "🚀"])(
  "a version is found by the alias %s, and a file keeps that name",
  async (name) => {
    const where = inProject();
    const { sha256: digest } = await client.uploadArtifactContent({ ...where, body: "hello" });
    const files = [{ path: `dir/${name}.txt`, sha256: digest }];
    await client.commitArtifact({ ...where, name: "data", type: name, files, aliases: [name] });
    const found = await client.getArtifactVersion({ ...where, name: "data", version: name });
    expect(found).toMatchObject({ type: name, version: "v0" });
    const at = `/v1/artifacts/${where.entity}/${where.project}/data/versions/${encodeURIComponent(name)}/file`;
    const response = await service.fetch(`http://in-process${at}?path=${encodeURIComponent(`dir/${name}.txt`)}`, {
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    expect(await response.text()).toBe("hello");
    expect(response.headers.get("content-disposition")).toContain(`filename*=UTF-8''${encodeURIComponent(name)}.txt`);
  },
);

test("a part of a file is read, and bytes beyond its end are refused", async () => {
  const where = inProject();
  await commit(where, "0123456789");
  const path = `/v1/artifacts/${where.entity}/${where.project}/data/versions/v0/file?path=train.jsonl`;
  const read = async (range?: string) => {
    const headers = { authorization: `Bearer ${service.owner_key}`, ...(range !== undefined && { range }) };
    const response = await service.fetch(`http://in-process${path}`, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const whole = await read();
  expect([whole.status, whole.text]).toEqual([200, "0123456789"]);
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    "accept-ranges": "bytes",
    "content-length": "10",
    "content-disposition": 'attachment; filename="train.jsonl"',
    etag: `"${sha256("0123456789")}"`,
  });
  const part = await read("bytes=2-4");
  expect([part.status, part.text, part.headers.get("content-range")]).toEqual([206, "234", "bytes 2-4/10"]);
  expect(await read("bytes=-3")).toMatchObject({ status: 206, text: "789" });
  expect(await read("bytes=7-99")).toMatchObject({ status: 206, text: "789" });
  expect(await read("bytes=1-2,4-5")).toMatchObject({ status: 200, text: "0123456789" });
  expect(await read("bytes=10-")).toMatchObject({ status: 400 });
});

test("content with another digest, and content that is not complete, is not kept", async () => {
  const where = inProject();
  const upload = client.uploadArtifactContent({ ...where, body: "hello", sha256: sha256("other") });
  await expect(upload).rejects.toMatchObject({ status: 409, message: expect.stringContaining(sha256("hello")) });
  await expect(client.uploadArtifactContent({ ...where, body: "x", sha256: "AA" })).rejects.toMatchObject({
    status: 422,
  });

  const url = new URL(await service.listen());
  const cut = request({
    host: url.hostname,
    port: url.port,
    method: "POST",
    path: `/v1/artifact-contents/${where.entity}/${where.project}`,
    headers: {
      authorization: `Bearer ${service.owner_key}`,
      "content-type": "application/octet-stream",
      "content-length": "10",
    },
  });
  cut.on("error", () => {});
  cut.write("hello", () => cut.destroy());
  await new Promise((resolve) => cut.once("close", resolve));
  const digests = [sha256("hello"), sha256("other")];
  expect(await client.findArtifactContents({ ...where, sha256: digests })).toEqual({ contents: [] });
  const files = [{ path: "train.jsonl", sha256: sha256("hello") }];
  await expect(client.commitArtifact({ ...where, name: "data", type: "dataset", files })).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "files", 0, "sha256"] }] },
  });
  await expect(client.getArtifact({ ...where, name: "data" })).rejects.toMatchObject({ status: 404 });
});

test("content goes to disk as it arrives", async () => {
  const where = inProject();
  const url = new URL(await service.listen());
  const chunk = randomBytes(1024 * 1024);
  const hash = createHash("sha256");
  const response = await new Promise<string>((resolve, reject) => {
    const upload = request({
      host: url.hostname,
      port: url.port,
      method: "POST",
      path: `/v1/artifact-contents/${where.entity}/${where.project}`,
      headers: {
        authorization: `Bearer ${service.owner_key}`,
        "content-type": "application/octet-stream",
      },
    });
    upload.on("response", (incoming) => {
      let text = "";
      incoming.on("data", (part: Buffer) => (text += part.toString()));
      incoming.on("end", () => resolve(text));
    });
    async function* body() {
      // More than any body that is held in memory may have.
      for (let n = 0; n < 40; n++) {
        hash.update(chunk);
        yield chunk;
      }
    }
    pipeline(body, upload).catch(reject);
  });
  const digest = hash.digest("hex");
  expect(JSON.parse(response)).toMatchObject({ sha256: digest, size_bytes: 40 * 1024 * 1024 });
  const files = [{ path: "weights.bin", sha256: digest }];
  await client.commitArtifact({ ...where, name: "weights", type: "lora", files });
  const read = await service.fetch(
    `http://in-process/v1/artifacts/${where.entity}/${where.project}/weights/versions/latest/file?path=weights.bin`,
    { headers: { authorization: `Bearer ${service.owner_key}` } },
  );
  const received = createHash("sha256");
  for await (const part of read.body ?? []) received.update(part);
  expect(received.digest("hex")).toBe(digest);
});

test("a project sees neither the artifacts nor the contents of another", async () => {
  const [own, foreign] = [inProject(), inProject()];
  await commit(foreign, "secret");
  const digest = sha256("secret");
  expect(await client.findArtifactContents({ ...own, sha256: [digest] })).toEqual({ contents: [] });
  const files = [{ path: "a", sha256: digest }];
  await expect(client.commitArtifact({ ...own, name: "data", type: "dataset", files })).rejects.toMatchObject({
    status: 422,
  });
  await expect(client.getArtifactVersion({ ...own, name: "data", version: "v0" })).rejects.toMatchObject({
    status: 404,
  });
  const stranger = service.training(await service.key({ projects: [own.project] }));
  for (const refused of [
    stranger.getArtifactVersion({ ...foreign, name: "data", version: "v0" }),
    stranger.uploadArtifactContent({ ...foreign, body: "x" }),
    stranger.downloadArtifactFile({ ...foreign, name: "data", version: "v0", path: "train.jsonl" }),
  ]) {
    await expect(refused).rejects.toMatchObject({ status: 403 });
  }
  const reader = service.training(await service.key({ role: "read" }));
  await expect(reader.uploadArtifactContent({ ...own, body: "x" })).rejects.toMatchObject({ status: 403 });
});

test("names, paths and aliases that cannot be are refused with their location", async () => {
  const where = inProject();
  const { sha256: digest } = await client.uploadArtifactContent({ ...where, body: "x" });
  const refusal = async (more: object) => {
    const files = [{ path: "fine", sha256: digest }];
    const committed = client.commitArtifact({ ...where, name: "data", type: "dataset", files, ...more });
    const error: unknown = await committed.catch((reason: unknown) => reason);
    const { status, body } = error as { status: number; body: { detail: { loc: unknown[] }[] | string } };
    return [status, typeof body.detail === "string" ? undefined : body.detail[0]?.loc];
  };
  const paths = [
    "..",
    "../x",
    "/etc/passwd",
    "a/../../b",
    "a\\b",
    "a\0b",
    "a//b",
    "x".repeat(256),
    "a/".repeat(600) + "b",
  ];
  for (const path of paths)
    expect(await refusal({ files: [{ path, sha256: digest }] })).toEqual([422, ["body", "files", 0, "path"]]);
  for (const name of ["..", "a/b", "a b", "", "a".repeat(129)])
    expect(await refusal({ name })).toEqual([422, ["body", "name"]]);
  expect(await refusal({ aliases: ["v3"] })).toEqual([422, ["body", "aliases", 0]]);
  const many = Array.from({ length: 10_001 }, (_, n) => ({ path: `${n}`, sha256: digest }));
  expect((await refusal({ files: many }))[0]).toBe(413);
  expect(await all(client.listArtifacts(where))).toEqual([]);
  await commit(where, "x");
  expect(await refusal({ type: "lora" })).toEqual([409, undefined]);
  const named = { ...where, name: "data", version: "v0" };
  for (const path of ["train.json", "../train.jsonl", "nul\0"])
    await expect(client.downloadArtifactFile({ ...named, path })).rejects.toMatchObject({ status: 404 });
  expect(service.unexpected).toEqual([]);
});

test("bytes that were lost or changed on disk are reported, not served", async () => {
  const where = inProject();
  const text = `lost ${newProject()}`;
  await commit(where, text);
  const digest = sha256(text);
  const named = { ...where, name: "data", version: "v0", path: "train.jsonl" };
  const key = `sha256/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
  await pipeline([text.replace("lost", "LOST")], createWriteStream(`${service.services.config.blobsUrl}/${key}`));
  await expect(client.downloadArtifactFile(named)).rejects.toMatchObject({ status: expect.any(Number) });
  await service.services.blobs.delete(key);
  await expect(client.downloadArtifactFile(named)).rejects.toMatchObject({
    status: 500,
    message: expect.stringContaining("is lost"),
  });
  expect(service.services.losses.list()).toContainEqual(expect.objectContaining({ part: "blobs" }));
});

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of pages) found.push(item);
  return found;
}
