import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { loneSurrogate } from "./hostile-texts.js";

const databases = postgresUrl === undefined ? undefined : postgresDatabases(postgresUrl);
afterAll(async () => await databases?.drop());

const sqlite = ["SQLite", undefined] as const;
const ends = databases === undefined ? [sqlite] : [sqlite, ["Postgres", () => databases.make()] as const];
const names = ["a\0b", "a\nb", loneSurrogate, "   ", "x".repeat(257)];
const cases = names.map((name) => [JSON.stringify(name).slice(0, 20), name] as const);

describe.each(ends)("names that the control plane cannot keep, on %s", (_, makeDatabase) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService(makeDatabase && { HEDDLE_DATABASE_URL: await makeDatabase() });
  });
  afterAll(async () => {
    expect(service.unexpected).toEqual([]);
    await service.close();
  });

  async function send(path: string, body: unknown, key = service.owner_key) {
    const headers = { authorization: `Bearer ${key}` };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await service.fetch(`http://in-process${path}`, request);
    return { status: answer.status, text: await answer.text() };
  }

  test.each(cases)("%s is refused as a project and for keys", async (__, name) => {
    const times = { started_at: "2026-04-10T09:00:00Z", attributes: {}, inputs: {} };
    for (const projectId of [`${name}/p`, `acme/${name}`]) {
      const start = { project_id: projectId, id: "c", trace_id: "t", op_name: "op", ...times };
      expect((await send("/call/start", { start })).status).toBe(422);
      expect((await send("/call/read", { project_id: projectId, id: "c" })).status).toBe(422);
      expect(await send("/service/projects_info", { project_ids: [projectId] })).toEqual({ status: 200, text: "[]" });
    }
    const { keys } = service.services.control;
    const request = { user_name: "alice", entity: "acme", role: "read" as const };
    for (const change of [{ name }, { user_name: name }, { entity: name }, { projects: [name] }]) {
      await expect(keys.create({ ...request, ...change })).rejects.toMatchObject({ code: "unprocessable" });
    }
  });

  test.each(cases)("%s is refused where an SDK makes a project, and is never found", async (__, name) => {
    const variables = { entityName: "acme", name };
    const upsert = {
      query:
        "mutation ($entityName: String, $name: String) { upsertModel(input: { entityName: $entityName, name: $name }) { model { name } } }",
      variables,
    };
    const refused = JSON.parse((await send("/graphql", upsert)).text) as { errors: unknown };
    expect(refused).toEqual({
      errors: [expect.objectContaining({ message: expect.stringContaining("project") })],
    });
    const lookup = {
      query: "query ($entityName: String, $name: String) { project(entityName: $entityName, name: $name) { name } }",
      variables,
    };
    const reader = await service.key({ role: "read" });
    for (const key of [service.owner_key, reader]) {
      expect(await send("/graphql", lookup, key)).toEqual({ status: 200, text: '{"data":{"project":null}}' });
    }
    expect((await send("/graphql", upsert, reader)).text).toContain("errors");
  });

  test.each(cases)("%s is not an internal project of a ref", async (__, name) => {
    const ref = `weave-trace-internal:///${name}/object/o:d`;
    const obj = { project_id: "acme/p", object_id: "o", val: { ref } };
    for (const { status, text } of [
      await send("/obj/create", { obj }),
      await send("/refs/read_batch", { refs: [ref] }),
    ]) {
      expect([400, 422]).toContain(status);
      expect(text).toContain("ref");
    }
  });
});
