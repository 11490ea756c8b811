import { createHash } from "node:crypto";
import { toFetch } from "@heddle/server-stub/fetch";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/boot/app.js";
import { readGrant, signedPathOf } from "../../src/wandb/signed-urls.js";
import type { Grant } from "../../src/wandb/signed-urls.js";
import { readConfig } from "../../src/config/config.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

interface Response<Data> {
  data?: Data;
  errors?: { message: string; extensions?: { code: string } }[];
}

async function ask<Data>(query: string, variables: object, key = service.owner_key): Promise<Response<Data>> {
  const response = await service.fetch("http://in-process/graphql", {
    method: "POST",
    body: JSON.stringify({ query, variables }),
    headers: { authorization: `Basic ${btoa(`api:${key}`)}`, host: "heddle.example:4680" },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Response<Data>;
}

const hexMd5 = (text: string) => createHash("md5").update(text).digest("hex");
const md5 = (text: string) => createHash("md5").update(text).digest("base64");
const manifest = (files: Record<string, string>, entry: object = {}) =>
  JSON.stringify({
    version: 1,
    contents: Object.fromEntries(
      Object.entries(files).map(([path, text]) => [path, { digest: md5(text), size: text.length, ...entry }]),
    ),
  });
const inProcess = (url: string) => new URL(url).pathname;
const put = async (url: string, body: string) =>
  await service.fetch(`http://in-process${inProcess(url)}`, { method: "PUT", body });
const get = async (url: string, headers: Record<string, string> = {}) =>
  await service.fetch(`http://in-process${inProcess(url)}`, { headers });

const createArtifact = `mutation CreateArtifact ($input: CreateArtifactInput!) {
  createArtifact(input: $input) { ... CreatedArtifact } }
  fragment CreatedArtifact on CreateArtifactPayload { artifact { id state artifactSequence { latestArtifact { id } } } }`;
const createManifest = `mutation CreateArtifactManifest ($artifactID: ID!, $name: String!, $includeUpload: Boolean!) {
  createArtifactManifest(input: {artifactID:$artifactID,name:$name,type:FULL}) {
    artifactManifest { id file { id uploadUrl @include(if: $includeUpload) } } } }`;
const createFiles = `mutation CreateArtifactFiles ($input: CreateArtifactFilesInput!) {
  createArtifactFiles(input: $input) { files { edges { node { storagePath uploadUrl artifact { id } } } } } }`;
const commitArtifact = `mutation CommitArtifact ($artifactID: ID!) {
  commitArtifact(input: {artifactID:$artifactID}) { artifact { id digest } } }`;
const membership = `query ArtifactMembershipByName($entity: String!, $project: String!, $name: String!, $includeAliases: Boolean = false) {
  project(name: $project, entityName: $entity) { artifactCollectionMembership(name: $name) { ...Membership } } }
  fragment Membership on ArtifactCollectionMembership {
    __typename versionIndex aliases { alias }
    artifactCollection { __typename name ... on ArtifactPortfolio { owner } }
    artifact { id state size fileCount digest metadata kind: artifactType { name } aliases @include(if: $includeAliases) { alias } } }`;
const fileUrls = `query GetArtifactMembershipFileUrls($entity: String!, $project: String!, $collection: String!, $alias: String!, $cursor: String, $perPage: Int) {
  project(name: $project, entityName: $entity) { artifactCollection(name: $collection) {
    artifactMembership(aliasName: $alias) { files(after: $cursor, first: $perPage) {
      pageInfo { endCursor hasNextPage } edges { node { name directUrl } } } } } } }`;

interface Created {
  createArtifact: {
    artifact: { id: string; state: string; artifactSequence: { latestArtifact: { id: string } | null } };
  };
}
interface Node {
  uploadUrl: string | null;
}

/** Does what wandb does to log an artifact, up to its commit; `sent` are the contents that are uploaded. */
async function announce(
  projectId: string,
  files: Record<string, string>,
  sent = files,
  text = manifest(files),
  key = service.owner_key,
) {
  const [entityName, projectName] = projectId.split("/");
  const input = {
    entityName,
    projectName,
    artifactTypeName: "dataset",
    artifactCollectionName: "data",
    aliases: [
      {
        artifactCollectionName: "data",
        alias: "best",
      },
    ],
    metadata: '{"format":"jsonl"}',
  };
  const created = await ask<Created>(createArtifact, { input }, key);
  const artifactID = created.data?.createArtifact.artifact.id ?? "";
  const createdManifest = await ask<{ createArtifactManifest: { artifactManifest: { file: { uploadUrl: string } } } }>(
    createManifest,
    {
      artifactID,
      name: "wandb_manifest.json",
      includeUpload: true,
    },
    key,
  );
  const manifestUrl = createdManifest.data?.createArtifactManifest.artifactManifest.file.uploadUrl ?? "";
  expect(manifestUrl).toMatch(/^http:\/\/[^/]+\/wandb-files\//);
  expect((await put(manifestUrl, text)).status).toBe(200);
  const artifactFiles = Object.entries(sent).map(([name, content]) => ({ artifactID, name, md5: md5(content) }));
  const asked = await ask<{ createArtifactFiles: { files: { edges: { node: Node }[] } } }>(
    createFiles,
    { input: { artifactFiles } },
    key,
  );
  const urls = asked.data?.createArtifactFiles.files.edges.map(({ node }) => node.uploadUrl) ?? [];
  return { artifactID, urls, manifestUrl };
}

describe("an artifact of the wandb SDK", () => {
  test("is logged file by file, found by its alias and downloaded again, also through the interface of this service", async () => {
    const projectId = newProject();
    const [entity = "", project = ""] = projectId.split("/");
    const files = { "train.jsonl": '{"messages":[]}\n', "deep/more.txt": "more" };
    const { artifactID, urls } = await announce(projectId, files);
    for (const [at, text] of Object.values(files).entries()) expect((await put(urls[at] ?? "", text)).status).toBe(200);
    const before = await ask<{ project: null }>(membership, { entity, project, name: "data:latest" });
    expect(before.data?.project).toMatchObject({ artifactCollectionMembership: null });
    const committed = await ask(commitArtifact, { artifactID });
    const again = await ask(commitArtifact, { artifactID });
    expect(again).toEqual(committed);

    const found = await ask(membership, { entity, project, name: "data:best", includeAliases: true });
    const digest = createHash("md5")
      .update(`wandb-artifact-manifest-v1\ndeep/more.txt:${md5("more")}\ntrain.jsonl:${md5(files["train.jsonl"])}\n`)
      .digest("hex");
    expect(found.data).toEqual({
      project: {
        artifactCollectionMembership: {
          __typename: "ArtifactCollectionMembership",
          versionIndex: 0,
          aliases: [{ alias: "best" }, { alias: "latest" }],
          artifactCollection: { __typename: "ArtifactSequence", name: "data" },
          artifact: {
            id: artifactID,
            state: "COMMITTED",
            size: 20,
            fileCount: 2,
            digest,
            metadata: '{"format":"jsonl"}',
            kind: { name: "dataset" },
            aliases: [{ alias: "best" }, { alias: "latest" }],
          },
        },
      },
    });

    const read: Record<string, string> = {};
    let cursor: string | null = null;
    do {
      const page: Response<FileUrls> = await ask<FileUrls>(fileUrls, {
        entity,
        project,
        collection: "data",
        alias: "latest",
        cursor,
        perPage: 1,
      });
      const { edges, pageInfo } = page.data?.project.artifactCollection.artifactMembership.files ?? noFiles;
      for (const { node } of edges) read[node.name] = await (await get(node.directUrl)).text();
      cursor = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    } while (cursor !== null);
    expect(read).toEqual(files);

    const listed = await ask<{ artifact: { currentManifest: { file: { directUrl: string } } } }>(
      "query FetchArtifactManifest($id: ID!) { artifact(id: $id) { currentManifest { file { directUrl } } } }",
      { id: artifactID },
    );
    const text = await get(listed.data?.artifact.currentManifest.file.directUrl ?? "");
    expect(JSON.parse(await text.text())).toMatchObject(JSON.parse(manifest(files)) as object);
    const version = { entity, project, name: "data", version: "best" };
    expect(await service.training().getArtifactVersion(version)).toMatchObject({ version: "v0", file_count: 2 });
    const bytes = await service.training().downloadArtifactFile({ ...version, path: "deep/more.txt" });
    expect(Buffer.from(bytes).toString()).toBe("more");

    const input = {
      entityName: entity,
      projectName: project,
      artifactTypeName: "dataset",
      artifactCollectionName: "data",
      digest,
      aliases: [
        {
          artifactCollectionName: "data",
          alias: "again",
        },
      ],
    };
    const same = await ask<Created>(createArtifact, { input });
    expect(same.data?.createArtifact.artifact).toMatchObject({ id: artifactID, state: "COMMITTED" });
    expect(await service.training().getArtifactVersion({ ...version, version: "again" })).toMatchObject({
      version: "v0",
    });
    const aliases = Array.from({ length: 101 }, (_, index) => ({ alias: `a${index}` }));
    await expect(ask(createArtifact, { input: { ...input, aliases } })).rejects.toThrow("expected 413 to be 200");
  });

  test("does not exist while content is missing, and wrong content is refused", async () => {
    const projectId = newProject();
    const [entity = "", project = ""] = projectId.split("/");
    const { artifactID, urls } = await announce(projectId, { a: "first", b: "second" });
    expect((await put(urls[0] ?? "", "other")).status).toBe(409);
    expect((await put(urls[0] ?? "", "first")).status).toBe(200);
    const failed = await ask(commitArtifact, { artifactID });
    expect(failed.errors).toEqual([{ message: "the content of b was not sent" }]);
    await expect(service.training().getArtifact({ entity, project, name: "data" })).rejects.toMatchObject({
      status: 404,
    });
    expect((await put(urls[1] ?? "", "second")).status).toBe(200);
    expect((await ask(commitArtifact, { artifactID })).errors).toBeUndefined();
    // What the project has is not asked for again.
    expect((await announce(projectId, { a: "first", c: "third" })).urls).toEqual([null, expect.any(String)]);
  });

  test.each([
    ["a path out of its directory", manifest({ "../a": "x" }), /path must not hold the names/],
    ["a reference to another store", manifest({ a: "x" }, { ref: "s3://bucket/a" }), /a is a reference/],
    ["a digest that is none", JSON.stringify({ contents: { a: { digest: "x" } } }), /no MD5 of a/],
    ["no contents", "{}", /no contents/],
    ["no JSON", "<", /not JSON/],
  ])("with %s is refused", async (_, text, reason) => {
    const projectId = newProject();
    const { artifactID, urls } = await announce(projectId, { a: "x" }, { a: "x" }, text);
    await put(urls[0] ?? "", "x");
    const { errors } = await ask(commitArtifact, { artifactID });
    expect(errors?.[0]?.message).toMatch(reason);
    expect(
      (await service.services.control.artifacts.pageCollections({ project_id: projectId, limit: 1 })).collections,
    ).toEqual([]);
  });

  test("of another project is not there, and nobody without the right makes one", async () => {
    const projectId = newProject();
    const [entity, project] = projectId.split("/");
    const { artifactID, urls } = await announce(projectId, { a: "secret" });
    await put(urls[0] ?? "", "secret");
    await ask(commitArtifact, { artifactID });
    const stranger = await service.key({ projects: ["elsewhere"] });
    const byId = "query ArtifactByID($id: ID!) { artifact(id: $id) { id } }";
    expect((await ask(byId, { id: artifactID }, stranger)).data).toEqual({ artifact: null });
    expect((await ask(membership, { entity, project, name: "data:latest" }, stranger)).data).toEqual({ project: null });
    expect((await ask(commitArtifact, { artifactID }, stranger)).errors).toEqual([{ message: "no such artifact" }]);
    const used = "mutation UseArtifact($input: UseArtifactInput!) { useArtifact(input: $input) { artifact { id } } }";
    expect((await ask(used, { input: { artifactID } }, stranger)).errors).toEqual([{ message: "no such artifact" }]);
    const input = {
      entityName: entity,
      projectName: project,
      artifactTypeName: "dataset",
      artifactCollectionName: "data",
    };
    const reader = await service.key({ role: "read" });
    for (const key of [stranger, reader]) {
      const { errors } = await ask(createArtifact, { input }, key);
      expect(errors?.[0]?.extensions?.code).toBe("PERMISSION_ERROR");
    }
    expect((await ask(byId, { id: "x" })).errors).toEqual([{ message: "not the id of an artifact" }]);
  });
});

describe("a signed URL", () => {
  /** Logs an artifact with one file, `a`, as the owner. */
  async function logged(projectId: string) {
    const { artifactID, urls, manifestUrl } = await announce(projectId, { a: "0123456789" });
    const [url = ""] = urls;
    expect((await get(url ?? "")).status).toBe(404);
    await put(url ?? "", "0123456789");
    await ask(commitArtifact, { artifactID });
    const version = await service.services.control.artifacts.get(projectId, "data");
    const file = { kind: "file", project_id: projectId, version_id: version?.id ?? "", path: "a" } as const;
    return { file, manifestUrl };
  }
  const sign = (grant: Grant, keyId = "owner", now?: number) =>
    `http://in-process${signedPathOf(service.services.control.urlSignatures, keyId, grant, now)}`;
  const tokenOf = (url: string) => url.split("/").at(-1) ?? "";
  const refusal = async (sent: ReturnType<typeof get>) => `${(await sent).status} ${await (await sent).text()}`;

  test("serves only what it was signed for, only for its method, until it expires", async () => {
    const { file: grant, manifestUrl } = await logged(newProject());
    expect((await put(manifestUrl, "{}")).status).toBe(404);
    const file = sign(grant);
    expect(await (await get(file)).text()).toBe("0123456789");
    const part = await get(file, { range: "bytes=2-3" });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([206, "bytes 2-3/10", "23"]);
    expect((await put(file, "x")).status).toBe(403);
    const deleted = await service.fetch(`http://in-process${inProcess(file)}`, { method: "DELETE" });
    expect(deleted.status).toBe(405);
    const [keyId, payload, signature] = tokenOf(file).split(".");
    const { key } = await service.services.control.keys.create({ user_name: "ann", entity: "acme", role: "read" });
    const forged = [
      "",
      `${keyId}.${payload}.`,
      `${keyId}.${payload}.${signature}x`,
      `${key.id}.${payload}.${signature}`,
    ];
    for (const token of forged)
      expect(await refusal(get(`http://x/wandb-files/${token}`))).toMatch(/^403 .*not one of this service/);
    expect(await refusal(get(sign(grant, "owner", Date.now() - 7 * 3_600_000)))).toMatch(/^403 .*expired/);
  });

  test("expires also while the clock is set back", async () => {
    const url = sign({ kind: "content", project_id: newProject(), md5: "0".repeat(32) });
    const later = performance.now() + 6 * 3_600_000 + 1;
    vi.spyOn(performance, "now").mockImplementation(() => later);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    try {
      await expect(readGrant(service.services.control, tokenOf(url))).rejects.toThrow("expired");
    } finally {
      vi.restoreAllMocks();
    }
  });

  test("ends with the key for which it was signed, for reading and for writing", async () => {
    const projectId = newProject();
    const [entity = "", project = ""] = projectId.split("/");
    await logged(projectId);
    const { key, secret } = await service.services.control.keys.create({ user_name: "ann", entity, role: "write" });
    const names = { entity, project, collection: "data", alias: "latest" };
    const page = await ask<FileUrls>(fileUrls, names, secret);
    const { edges } = page.data?.project.artifactCollection.artifactMembership.files ?? noFiles;
    const readUrl = edges[0]?.node.directUrl ?? "";
    const { urls, manifestUrl } = await announce(projectId, { b: "new" }, { b: "new" }, "{}", secret);
    const writeUrl = urls[0] ?? "";
    for (const url of [readUrl, manifestUrl, writeUrl]) expect(tokenOf(url).split(".")[0]).toBe(key.id);
    expect((await get(readUrl)).status).toBe(200);
    await service.services.control.keys.revoke(key.id);
    const revoked = /^403 .*key for which the URL was signed is revoked/;
    expect(await refusal(get(readUrl))).toMatch(revoked);
    expect(await refusal(put(writeUrl, "new"))).toMatch(revoked);
    expect(await refusal(put(manifestUrl, manifest({ b: "new" })))).toMatch(revoked);
    const stored = await service.services.control.artifacts.findContentsByMd5(projectId, [hexMd5("new")]);
    expect(stored.size).toBe(0);
  });

  test("does what its key may do at the time, and nothing that is not the project's", async () => {
    const projectId = newProject();
    const { file } = await logged(projectId);
    const { control } = service.services;
    const reader = await control.keys.create({ user_name: "ann", entity: "acme", role: "read" });
    const elsewhere = await control.keys.create({ user_name: "ann", entity: "acme", role: "write", projects: ["x"] });
    const content: Grant = { kind: "content", project_id: projectId, md5: hexMd5("x") };
    expect((await get(sign(file, reader.key.id))).status).toBe(200);
    expect(await refusal(put(sign(content, reader.key.id), "x"))).toMatch(/^403 .*may not write this project/);
    expect(await refusal(get(sign(file, elsewhere.key.id)))).toMatch(/^403 .*may not read this project/);
  });

  test("begins with the public URL of the settings, whatever the request says, else with its Host", async () => {
    const projectId = newProject();
    const { artifactID } = await announce(projectId, {});
    const { services, owner_key } = service;
    const urlFrom = async (headers: Record<string, string>, setting?: string) => {
      const config = { ...services.config, publicUrl: readConfig({ HEDDLE_PUBLIC_URL: setting }).publicUrl };
      const response = await toFetch(createApp({ ...services, config }))(
        new Request("http://in-process/graphql", {
          method: "POST",
          headers: { authorization: `Bearer ${owner_key}`, ...headers },
          body: JSON.stringify({ query: createManifest, variables: { artifactID, name: "m", includeUpload: true } }),
        }),
      );
      const text = await response.text();
      return /"uploadUrl":"(.*?)\/wandb-files\//.exec(text)?.[1] ?? text;
    };
    expect(await urlFrom({ host: "10.0.0.7:4680" })).toBe("http://10.0.0.7:4680");
    expect(await urlFrom({ host: "[::1]:4680", "x-forwarded-proto": "https" })).toBe("https://[::1]:4680");
    const hostile = { host: "evil.example", "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" };
    expect(await urlFrom(hostile, "http://example.com:8080")).toBe("http://example.com:8080");
    expect(await urlFrom(hostile, "https://example.com/heddle/")).toBe("https://example.com/heddle");
    for (const host of ["evil.example/x?", "user@evil.example", "a b", "a,b", "evil.example:port", "é.example"])
      expect(await urlFrom({ host }), host).toMatch(/the header Host must be a name or an address/);
  });
});

describe("a run of the wandb SDK", () => {
  const upsert = `mutation UpsertBucket ($name: String, $project: String, $entity: String, $config: JSONString, $tags: [String!]) {
    upsertBucket(input: {name:$name,modelName:$project,entityName:$entity,config:$config,tags:$tags}) {
      bucket { id name displayName config project { name entity { name } } historyLineCount } inserted } }`;
  const resume = `query RunResumeStatus ($project: String, $entity: String, $name: String!) {
    model(name: $project, entityName: $entity) { name bucket(name: $name, missingOk: true) {
      name config summaryMetrics historyLineCount historyTail eventsTail tags } } }`;
  const stream = async (path: string, body: unknown, key = service.owner_key) => {
    const headers = { authorization: `Basic ${btoa(`api:${key}`)}` };
    const init = { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers };
    return (await service.fetch(`http://in-process/files/${path}/file_stream`, init)).status;
  };

  test("is made once, and what it logs is there when it is resumed", async () => {
    const projectId = newProject();
    const [entity, project] = projectId.split("/");
    const run = { entity, project, name: "run 1" };
    expect((await ask(resume, run)).data).toEqual({ model: null });
    const created = await ask(upsert, { ...run, config: '{"lr":1.0}', tags: ["a"] });
    expect(created.data).toMatchObject({
      upsertBucket: {
        inserted: true,
        bucket: { name: "run 1", displayName: "run 1", project: { entity: { name: entity } } },
      },
    });
    expect((await ask(upsert, run)).data).toMatchObject({ upsertBucket: { inserted: false } });
    const history = (offset: number, ...content: string[]) => ({
      files: { "wandb-history.jsonl": { offset, content } },
    });
    const path = `${projectId}/run%201`;
    expect(await stream(path, history(0, '{"loss":2.0}', '{"loss":1.0}'))).toBe(200);
    expect(await stream(path, history(1, '{"loss":1.0}', '{"loss":0.5}'))).toBe(200);
    const summary = {
      files: { "wandb-summary.json": { offset: 0, content: ['{"loss":0.5}'] } },
      complete: true,
      exitcode: 0,
    };
    expect(await stream(path, summary)).toBe(200);
    expect((await ask(resume, run)).data).toEqual({
      model: {
        name: project,
        bucket: {
          name: "run 1",
          config: '{"lr":1.0}',
          summaryMetrics: '{"loss":0.5}',
          historyLineCount: 3,
          historyTail: '["{\\"loss\\":0.5}"]',
          eventsTail: "[]",
          tags: ["a"],
        },
      },
    });
    const pages = await ask<{ project: { run: { history: string[]; state: string } } }>(
      "query HistoryPage($entity: String!, $project: String!, $name: String!) { project(name: $project, entityName: $entity) { run(name: $name) { state history(minStep: 1, maxStep: 10) } } }",
      run,
    );
    expect(pages.data?.project.run).toEqual({ state: "finished", history: ['{"loss":1.0}', '{"loss":0.5}'] });
  });

  test("takes nothing from strangers, for unknown runs, or of the wrong shape", async () => {
    const projectId = newProject();
    const [entity, project] = projectId.split("/");
    await ask(upsert, { entity, project, name: "run" });
    const stranger = await service.key({ projects: ["elsewhere"] });
    expect(await stream(`${projectId}/run`, {}, stranger)).toBe(403);
    expect(await stream(`${projectId}/run`, {}, "w".repeat(40))).toBe(401);
    expect(await stream(`${projectId}/other`, {})).toBe(404);
    for (const body of [
      "[",
      { files: { "wandb-history.jsonl": { offset: -1, content: [] } } },
      { files: { a: { content: [1] } } },
    ])
      expect(await stream(`${projectId}/run`, body)).toBe(400);
    const { errors } = await ask(upsert, { entity, project, name: "run" }, stranger);
    expect(errors?.[0]?.extensions?.code).toBe("PERMISSION_ERROR");
    const named = await ask(upsert, { entity, project, name: "a/b" });
    expect(named.errors?.[0]?.message).toMatch(/slash/);
    expect(service.unexpected).toEqual([]);
  });
});

interface FileUrls {
  project: {
    artifactCollection: {
      artifactMembership: {
        files: {
          pageInfo: { endCursor: string | null; hasNextPage: boolean };
          edges: { node: { name: string; directUrl: string } }[];
        };
      };
    };
  };
}
const noFiles: FileUrls["project"]["artifactCollection"]["artifactMembership"]["files"] = {
  pageInfo: { endCursor: null, hasNextPage: false },
  edges: [],
};
