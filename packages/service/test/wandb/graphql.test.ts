import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

async function ask(query: string, variables: object = {}, key = service.owner_key) {
  const answer = await service.fetch("http://in-process/graphql", {
    method: "POST",
    body: JSON.stringify({ query, variables }),
    headers: { authorization: `Basic ${btoa(`api:${key}`)}` },
  });
  return {
    status: answer.status,
    body: (await answer.json()) as { data?: unknown; errors?: { extensions?: { code: string } }[] },
  };
}

const upsert =
  "mutation UpsertModel($input: UpsertModelInput!) { upsertModel(input: $input) { model { name description entity { name } } } }";
const lookup =
  "query Project($name: String!, $entityName: String!) { project(name: $name, entityName: $entityName) { name } }";

test("the Python SDK's start-up: viewer, project lookup, project creation", async () => {
  const [entity, name] = newProject().split("/");
  expect((await ask("query DefaultEntity { viewer { username defaultEntity { name } } }")).body.data).toMatchObject({
    viewer: { username: "owner", defaultEntity: { name: "local" } },
  });
  expect((await ask(lookup, { name, entityName: entity })).body.data).toEqual({ project: null });
  expect((await ask(upsert, { input: { name, entityName: entity } })).body.data).toMatchObject({
    upsertModel: { model: { name } },
  });
  expect((await ask(lookup, { name, entityName: entity })).body.data).toMatchObject({ project: { name } });
});

test("a reader cannot make a project, and reads the reason the way SDKs look for it", async () => {
  const [entity, name] = newProject("acme").split("/");
  const reader = await service.key({ role: "read" });
  expect((await ask(upsert, { input: { name, entityName: entity } }, reader)).body.errors?.[0]?.extensions?.code).toBe(
    "PERMISSION_ERROR",
  );
});

test("no key is 401, other operations are a GraphQL error, other bodies a 400", async () => {
  expect((await service.fetch("http://in-process/graphql", { method: "POST", body: "{}" })).status).toBe(401);
  expect((await ask("query { runs { id } }")).body.errors).toHaveLength(1);
  const answer = await service.fetch("http://in-process/graphql", {
    method: "POST",
    body: "[",
    headers: { "wandb-api-key": service.owner_key },
  });
  expect(answer.status).toBe(400);
});
