import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { fileName, routeTenant } from "../routes/route-tenants.js";
import type { RouteTenant } from "../routes/route-tenants.js";
import { openResponse, readSize } from "./sized-responses.js";

// Requests of a few kilobytes to routes that the spec does not describe, each of which once kept everybody else waiting.

const megabyte = 1_000_000;
let service: TestService;
let url: string;
let tenant: RouteTenant;
let greedy: string;
let neighbour: string;

beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
  greedy = await service.key({ role: "write" });
  neighbour = await service.key({ entity: "neighbour", role: "write" });
  const projectId = newProject();
  tenant = await routeTenant(service, projectId, "none");
  const { control } = service.services;
  const named = { project_id: projectId, created_by: "ann" };
  const config = `{"a":"${"x".repeat(6 * megabyte)}"}`;
  await control.trackingRuns.upsert({ ...named, name: tenant.run }, { config });
  const large = { ...named, name: "large" };
  await control.trackingRuns.upsert(large, {});
  const row = `{"a":"${"x".repeat(megabyte)}"}`;
  await control.trackingRuns.writeHistory(large, 0, Array<string>(80).fill(row));
  const version = await control.artifacts.get(projectId, tenant.collection);
  const file = await control.artifacts.getFile(version?.id ?? "", fileName);
  const files = Array.from({ length: 10_000 }, (_, n) => ({ path: `f${n}`, sha256: file?.sha256 ?? "" }));
  await control.artifacts.commit({ ...named, name: "many", type: "dataset", files });
  await control.projects.ensure("neighbour", "app");
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const open = async (path: string, body: object, key = greedy) => await openResponse(`${url}${path}`, key, body);
const post = async (path: string, body: object, key?: string) => await readSize(await open(path, body, key));

/** What others get while an attack lasts: each round is a look at the health, and a read with another key. */
async function roundsDuring(attack: Promise<unknown>): Promise<{ rounds: number; longestMs: number }> {
  const state = { isOver: false };
  const ended = attack.finally(() => (state.isOver = true));
  let [rounds, longestMs] = [0, 0];
  while (!state.isOver) {
    const began = performance.now();
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.text()]).toEqual([200, expect.any(String)]);
    const query = '{ project(entityName: "neighbour", name: "app") { name } }';
    const read = await post("/graphql", { query }, neighbour);
    expect(read).toMatchObject({ status: 200, start: '{"data":{"project":{"name":"app"}}}' });
    rounds++;
    longestMs = Math.max(longestMs, performance.now() - began);
    await delay(1);
  }
  await ended;
  return { rounds, longestMs };
}

const projectQuery = (inner: string) =>
  `{ project(entityName: "${tenant.entity}", name: "${tenant.project}") { ${inner} } }`;
const aliases = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field(n)}`).join(" ");
const urls = "fragment F on Files { edges { node { url } } }";
const graphql = async (query: string) => await post("/graphql", { query });

test("a large value under many names is 413, and what fits is sent as fast as it is read", async () => {
  const before = process.memoryUsage().rss;
  const run = (inner: string) => projectQuery(`run(name: "${tenant.run}") { ${inner} }`);
  const many = run(aliases(80, () => "config"));
  const eighty = Promise.all(Array.from({ length: 9 }, async () => await graphql(many)));
  const { longestMs } = await roundsDuring(eighty);
  for (const { status, start } of await eighty) {
    expect([413, 429]).toContain(status);
    expect(start).toMatch(/^\{"errors":\[\{"message":".*HEDDLE_/);
  }
  expect(longestMs).toBeLessThan(5000);
  const five = run(aliases(5, () => "config"));
  const unread = await Promise.all([1, 2].map(async () => await open("/graphql", { query: five })));
  const waiting = unread.filter(({ statusCode }) => statusCode === 200);
  expect(waiting.length).toBeGreaterThan(0);
  expect(await post("/graphql", { query: "{ viewer { id } }" }, neighbour)).toMatchObject({ status: 200 });
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * megabyte);
  for (const response of unread) response.destroy();
  expect(await graphql(run("config"))).toMatchObject({ status: 200, size: expect.toSatisfy((size) => size > 6e6) });
});

test("a long history is refused before it is read", async () => {
  const before = process.memoryUsage().rss;
  const query = projectQuery('run(name: "large") { history }');
  const attack = Promise.all(Array.from({ length: 4 }, async () => await graphql(query)));
  const { longestMs } = await roundsDuring(attack);
  for (const { status } of await attack) expect([413, 429]).toContain(status);
  expect(longestMs).toBeLessThan(10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * megabyte);
});

test("hundreds of names of a list's length cost one look, and of lists the request ends at its budget", async () => {
  const read = `artifact(name: "many:latest")`;
  const counts = projectQuery(`${read} { ${aliases(400, (n) => `files(first: ${n + 1}) { totalCount }`)} }`);
  const counted = graphql(counts);
  await roundsDuring(counted);
  expect(await counted).toMatchObject({ status: 200, start: expect.stringContaining('"a9":{"totalCount":10000}') });
  const lists = `${projectQuery(`${read} { ${aliases(300, (n) => `files(first: ${n + 600}) { ...F }`)} }`)} ${urls}`;
  const attack = Promise.all(Array.from({ length: 3 }, async () => await graphql(lists)));
  const { rounds, longestMs } = await roundsDuring(attack);
  for (const { status, start } of await attack)
    expect([status, start]).toEqual([413, expect.stringContaining("costs too much")]);
  expect(rounds).toBeGreaterThan(3);
  expect(longestMs).toBeLessThan(5000);
});

test("many changes under many names end at the budget", async () => {
  const input = `{ entityName: "${tenant.entity}", modelName: "${tenant.project}", name: "new" }`;
  const query = `mutation { ${aliases(500, (n) => `upsertBucket(input: ${input.replace("new", `new-${n}`)}) { inserted }`)} }`;
  const attack = graphql(query.replaceAll(" }", "}").slice(0, 99_000));
  await roundsDuring(attack);
  expect((await attack).status).not.toBe(500);
  const runs = service.services.control.trackingRuns;
  expect(await runs.has(`${tenant.entity}/${tenant.project}`, "new-30")).toBe(false);
});

test("the lines of a large file stream are stored while others are served", async () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => `{"n":${n}}`);
  const path = `/files/${tenant.entity}/${tenant.project}/large/file_stream`;
  const attack = post(path, { files: { "wandb-history.jsonl": { offset: 80, content: rows } } });
  const { rounds, longestMs } = await roundsDuring(attack);
  expect(await attack).toMatchObject({ status: 200 });
  expect(rounds).toBeGreaterThan(3);
  expect(longestMs).toBeLessThan(5000);
  const run = await service.services.control.trackingRuns.get(`${tenant.entity}/${tenant.project}`, "large");
  expect(run?.history_rows).toBe(200_080);
});

test("a request whose client has left stops", async () => {
  const { artifacts } = service.services.control;
  const listFiles = artifacts.listFiles.bind(artifacts);
  const read = { pages: 0 };
  artifacts.listFiles = async (page) => {
    read.pages++;
    return await listFiles(page);
  };
  const files = aliases(300, (n) => `files(first: ${n + 1}) { ...F }`);
  const lists = `${projectQuery(`artifact(name: "many:latest") { ${files} }`)} ${urls}`;
  const outgoing = request(`${url}/graphql`, {
    method: "POST",
    headers: { authorization: `Bearer ${greedy}` },
    agent: false,
  });
  outgoing.on("error", () => {});
  outgoing.end(JSON.stringify({ query: lists }));
  while (read.pages === 0) await delay(1);
  outgoing.destroy();
  let seen = -1;
  while (seen !== read.pages) {
    seen = read.pages;
    await delay(100);
  }
  expect(read.pages).toBeLessThan(300);
});
