import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// What ops, datasets, scorers, models and evaluations have in common; their own properties are in evaluations.test.ts.

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const kinds = ["ops", "datasets", "scorers", "models", "evaluations"] as const;
type Kind = (typeof kinds)[number];

interface Version {
  object_id: string;
  digest: string;
  version_index: number;
}
type Listed = Version & Record<string, unknown>;

/** The operations of a kind in one project; `content` makes versions differ. */
async function operationsOf(kind: Kind, projectId: string) {
  const base = `http://in-process/v2/${projectId}/${kind}`;
  const send = async (method: string, path: string, body?: unknown) => {
    const init = { method, headers: { authorization: `Bearer ${service.owner_key}` }, body: JSON.stringify(body) };
    const response = await service.fetch(`${base}${path}`, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const dataset = kind === "evaluations" ? await datasetOf(projectId) : "";
  const bodies: Record<Kind, (content: string) => object> = {
    ops: (content) => ({ source_code: content }),
    datasets: (content) => ({ rows: [{ content }] }),
    scorers: (content) => ({ op_source_code: content }),
    models: (content) => ({ source_code: content }),
    evaluations: (content) => ({ dataset, description: content }),
  };
  return {
    create: async (name: string | undefined, content: string) => {
      const { status, text } = await send("POST", "", { name, ...bodies[kind](content) });
      expect([status, text]).toEqual([200, expect.anything()]);
      const { object_id, digest, version_index } = JSON.parse(text) as Version;
      return { object_id, digest, version_index };
    },
    tryCreate: async (body: object) => send("POST", "", { ...bodies[kind]("a"), ...body }),
    list: async (query = "") => {
      const { status, headers, text } = await send("GET", query);
      expect([status, headers.get("content-type")]).toEqual([200, "application/jsonl"]);
      return text === ""
        ? []
        : text
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line) as Listed);
    },
    read: async (objectId: string, version: string) => {
      const { status, text } = await send("GET", `/${objectId}/versions/${version}`);
      return { status, body: JSON.parse(text) as Listed };
    },
    remove: async (objectId: string, query = "") => {
      const { status, text } = await send("DELETE", `/${objectId}${query}`);
      return { status, body: JSON.parse(text) as Record<string, unknown> };
    },
    send,
  };
}

async function datasetOf(projectId: string): Promise<string> {
  const [entity = "", project = ""] = projectId.split("/");
  const { object_id, digest } = await service.tracing().datasetCreate({ entity, project, name: "d", rows: [] });
  return `weave:///${projectId}/object/${object_id}:${digest}`;
}

const versions = (listed: readonly Version[]) =>
  listed.map(({ object_id, version_index }) => [object_id, version_index]);

describe.concurrent.each(kinds)("%s", (kind) => {
  test("are versioned by content, listed, and read by digest, number, alias and latest", async () => {
    const projectId = newProject();
    const { create, list, read, remove } = await operationsOf(kind, projectId);
    const first = await create("My <Thing>/x", "one");
    expect(first).toMatchObject({ object_id: "my_thing_x", version_index: 0 });
    const second = await create("My Thing x", "two");
    expect(second).toMatchObject({ object_id: "my_thing_x", version_index: 1 });
    expect(await create("My Thing x", "two")).toEqual(second);

    const label = { object_id: "my_thing_x", project_id: projectId, digest: first.digest, aliases: ["stable"] };
    await service.tracing().objSetAliases(label);
    for (const version of [first.digest, "v0", "stable"]) {
      expect((await read("my_thing_x", version)).body).toMatchObject(first);
    }
    const latest = (await read("my_thing_x", "latest")).body;
    expect(latest).toMatchObject(second);
    expect(latest["created_at"]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    // What is listed is what is read. An op is listed in its latest version only.
    const listed = await list();
    expect(listed).toContainEqual(latest);
    expect(versions(listed)).toEqual(
      kind === "ops"
        ? [["my_thing_x", 1]]
        : [
            ["my_thing_x", 0],
            ["my_thing_x", 1],
          ],
    );

    expect((await read("my_thing_x", "v2")).status).toBe(404);
    expect((await remove("my_thing_x", "?digests=v1")).body).toEqual({ num_deleted: 1 });
    expect(await read("my_thing_x", second.digest)).toMatchObject({
      status: 404,
      body: { deleted_at: expect.any(String) },
    });
    expect((await read("my_thing_x", "latest")).body).toMatchObject(first);
  });

  test("share a name with another kind of value without being taken for it", async () => {
    const projectId = newProject();
    const { create, read, remove } = await operationsOf(kind, projectId);
    const created = await create("twin", "1");
    const others = await operationsOf(kind === "ops" ? "datasets" : "ops", projectId);
    const later = await others.create("twin", "2");
    expect((await read("twin", "latest")).body.digest).toBe(created.digest);
    expect((await read("twin", later.digest)).status).toBe(404);
    expect((await remove("twin", `?digests=${later.digest}`)).status).toBe(404);
    expect((await remove("twin")).body).toEqual({ num_deleted: 1 });
    expect((await others.read("twin", "latest")).body.digest).toBe(later.digest);
  });

  test("are refused with the field and the reason when something is wrong with them", async () => {
    const { tryCreate, send } = await operationsOf(kind, newProject());
    const refused = async (body: object, status: number, text: RegExp) => {
      const response = await tryCreate(body);
      expect([response.status, response.text]).toEqual([status, expect.stringMatching(text)]);
    };
    for (const name of ["", "<>", "what?", "🙂", "é".repeat(129), "a".repeat(129)]) {
      await refused({ name }, 422, /"loc":\["body","name"\]/);
    }
    await refused({ name: 5 }, 422, /"name"/);
    if (kind !== "ops" && kind !== "datasets") await refused({ name: undefined }, 422, /"name"/);
    for (const [query, status] of [
      ["?limit=-1", 400],
      ["?offset=-1", 400],
      ["?limit=many", 422],
    ] as const) {
      expect(await send("GET", query)).toMatchObject({ status, text: expect.stringMatching(/query.*(limit|offset)/) });
    }
    const many = Array.from({ length: 101 }, (_, at) => `digests=v${at}`).join("&");
    expect(await send("DELETE", `/a?${many}`)).toMatchObject({
      status: 400,
      text: expect.stringMatching(/query.digests/),
    });
  });
});

test("versions are listed in the order of their creation, in pages", async () => {
  const { create, list } = await operationsOf("datasets", newProject());
  expect(await list()).toEqual([]);
  for (const [name, content] of [
    ["b", "1"],
    ["a", "1"],
    ["b", "2"],
  ] as const) {
    await create(name, content);
  }
  const all = [
    ["b", 0],
    ["a", 0],
    ["b", 1],
  ];
  expect(versions(await list())).toEqual(all);
  expect(versions(await list("?limit=1"))).toEqual(all.slice(0, 1));
  expect(versions(await list("?limit=5&offset=1"))).toEqual(all.slice(1));
  expect(await list("?offset=9")).toEqual([]);
});

test("many versions are deleted at once, all or none", async () => {
  const { create, list, read, remove } = await operationsOf("scorers", newProject());
  const createdVersions: Version[] = [];
  for (const content of ["1", "2", "3", "4"]) createdVersions.push(await create("a", content));
  expect((await remove("a", "?digests=v0&digests=none")).status).toBe(404);
  expect((await read("a", "v0")).status).toBe(200);
  const two = `?digests=v0&digests=${createdVersions[1]?.digest}&digests=v1`;
  expect(await remove("a", two)).toEqual({ status: 200, body: { num_deleted: 2 } });
  expect(await read("a", "v1")).toMatchObject({ status: 404, body: { deleted_at: expect.any(String) } });
  expect(await remove("a")).toEqual({ status: 200, body: { num_deleted: 2 } });
  expect(await list()).toEqual([]);
  for (const { status, body } of [await read("a", "latest"), await remove("a")]) {
    expect([status, body]).toEqual([404, expect.objectContaining({ deleted_at: expect.any(String) })]);
  }
  expect((await remove("b")).status).toBe(404);
  // The same content comes back as a new version.
  expect(await create("a", "1")).toEqual({ ...createdVersions[0], version_index: 4 });
});

test("equal content that is sent at the same time becomes one version", async () => {
  const { create, list } = await operationsOf("scorers", newProject());
  const created = await Promise.all(Array.from({ length: 20 }, async () => create("race", "same")));
  expect(created).toEqual(Array.from({ length: 20 }, () => created[0]));
  const others = await Promise.all(Array.from({ length: 8 }, async (_, at) => create("race", `other ${at % 2}`)));
  expect(new Set(others.map(({ version_index }) => version_index))).toEqual(new Set([1, 2]));
  expect(versions(await list())).toEqual([
    ["race", 0],
    ["race", 1],
    ["race", 2],
  ]);
});

test("what one project has, no other shows", async () => {
  const { digest } = await (await operationsOf("models", newProject())).create("a", "1");
  const elsewhere = await operationsOf("models", newProject());
  expect(await elsewhere.list()).toEqual([]);
  expect((await elsewhere.read("a", digest)).status).toBe(404);
  expect((await elsewhere.remove("a")).status).toBe(404);
});

test("a name belongs to one class of object", async () => {
  const [entity = "", project = ""] = newProject().split("/");
  const tracing = service.tracing();
  await tracing.datasetCreate({ entity, project, name: "taken", rows: [] });
  const taken = tracing.modelCreate({ entity, project, name: "taken", source_code: "" });
  await expect(taken).rejects.toMatchObject({
    status: 400,
    body: { new_base_object_class: "Model", existing_base_object_classes: ["Dataset"] },
  });
});
