import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_PUBLIC_URL: "https://heddle.example.com", HEDDLE_CONSOLE: "off" });
});
afterAll(() => service.close());

const start = async (projectId: string, id: string, ended = false) => {
  const call = {
    project_id: projectId,
    id,
    op_name: "op",
    started_at: "2026-01-01T00:00:00Z",
    attributes: {},
    inputs: {},
  };
  await service.tracing().callStart({ start: { ...call, trace_id: id } });
  if (ended)
    await service
      .tracing()
      .callEnd({ end: { project_id: projectId, id, ended_at: "2026-01-01T00:00:01Z", summary: {} } });
};

test("a key reads whose it is and what it may do, and so does the owner key, which has no id", async () => {
  const { key, secret } = await service.services.control.keys.create({
    user_name: "ann",
    entity: "acme",
    role: "read",
    projects: ["a", "b"],
    name: "laptop",
  });
  expect(await service.tracing(secret).meRead()).toEqual({
    user: { id: key.user_id, name: "ann" },
    entity: "acme",
    role: "read",
    projects: ["a", "b"],
    key: { id: key.id, prefix: secret.slice(0, 6), name: "laptop" },
  });
  const owner = await service.tracing().meRead();
  expect(owner).toMatchObject({ user: { name: "owner" }, role: "admin", owner: true });
  expect(owner.key).toEqual({ prefix: "oooooo", name: "owner key" });
  await expect(service.tracing("x".repeat(40)).meRead()).rejects.toMatchObject({ status: 401 });
});

test("projects are listed with their calls, running ones and the newest", async () => {
  const [busy, idle] = [newProject("list"), newProject("list")];
  await start(busy, "ended", true);
  await start(busy, "running");
  await start(busy, "deleted", true);
  await service.tracing().callsDelete({ project_id: busy, call_ids: ["deleted"] });
  await service.tracing().objCreate({ obj: { project_id: idle, object_id: "o", val: {} } });
  const { projects, next } = await service.tracing().projectsQuery({ entity: "list" });
  expect(next).toBeUndefined();
  expect(projects.map(({ created_at, ...project }) => [project, Date.parse(created_at) > 0])).toEqual(
    [
      { project_id: busy, call_count: 2, running: 1, last_started_at: "2026-01-01T00:00:00.000000Z" },
      { project_id: idle, call_count: 0, running: 0 },
    ]
      .toSorted((a, b) => (a.project_id < b.project_id ? -1 : 1))
      .map((project) => [project, true]),
  );
});

test("pages follow each other without gaps, by any part of a name", async () => {
  const names = ["Alpha_1", "alpha%2", "beta", "gamma", "delta"];
  for (const name of names) await service.services.control.projects.ensure("paged", name);
  const tracing = service.tracing();
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await tracing.projectsQuery({ entity: "paged", limit: 2, ...(after !== undefined && { after }) });
    found.push(...page.projects.map(({ project_id }) => project_id.slice("paged/".length)));
    after = page.next;
  } while (after !== undefined);
  expect(found.toSorted()).toEqual(names.toSorted());
  const matching = async (text: string) =>
    (await tracing.projectsQuery({ entity: "paged", name_contains: text })).projects.map(
      ({ project_id }) => project_id,
    );
  expect((await matching("ALPHA")).toSorted()).toEqual(["paged/Alpha_1", "paged/alpha%2"]);
  expect(await matching("_")).toEqual(["paged/Alpha_1"]);
  expect(await matching("%")).toEqual(["paged/alpha%2"]);
  expect(await matching("\\")).toEqual([]);
  expect(await matching("\ud800")).toEqual([]);
  await expect(tracing.projectsQuery({ after: "no project" })).rejects.toMatchObject({ status: 422 });
});

test("a key lists its own projects only", async () => {
  for (const name of ["mine", "ours"]) await service.services.control.projects.ensure("narrow", name);
  const list = async (key: string, entity?: string) =>
    (await service.tracing(key).projectsQuery({ ...(entity !== undefined && { entity }) })).projects.map(
      ({ project_id }) => project_id,
    );
  const limited = await service.key({ entity: "narrow", role: "read", projects: ["mine", "not yet"] });
  expect(await list(limited)).toEqual(["narrow/mine"]);
  expect(await list(await service.key({ entity: "narrow" }))).toEqual(["narrow/mine", "narrow/ours"]);
  expect(await list(await service.key({ entity: "empty" }))).toEqual([]);
  expect(await list(limited, "acme")).toEqual([]);
  expect((await list(service.owner_key)).length).toBeGreaterThan(2);
});

test("a service says what it can do and where it is", async () => {
  const { heddle } = await service.tracing("").serverInfo();
  expect(heddle).toEqual({
    version: "1.2.3",
    capabilities: ["training", "sampling", "images", "providers"],
    public_url: "https://heddle.example.com",
  });
});
