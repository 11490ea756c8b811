import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import type { Objects } from "./objects.js";

const database = testDatabase();
let objects: Objects;
beforeAll(async () => {
  ({ objects } = await database.open());
});
afterAll(async () => await database.drop());

let projects = 0;
async function projectWithTwoVersions() {
  const projectId = `acme/labels-${projects++}`;
  const one = (await objects.create({ project_id: projectId, object_id: "o", val: "1" })).digest;
  const two = (await objects.create({ project_id: projectId, object_id: "o", val: "2" })).digest;
  const read = async (digest: string) =>
    await objects.read({ project_id: projectId, object_id: "o", digest, include_tags_and_aliases: true });
  return { project_id: projectId, object_id: "o", one, two, read };
}

test("a version has any number of tags, sorted; adding twice and removing what is absent change nothing", async () => {
  const { one, two, read, ...of } = await projectWithTwoVersions();
  await objects.addTags({ ...of, digest: "v0", tags: ["reviewed", "good one"] });
  await objects.addTags({ ...of, digest: one, tags: ["good one", "a-1_b"] });
  await objects.addTags({ ...of, digest: "latest", tags: ["reviewed"] });
  expect(await read(one)).toMatchObject({ tags: ["a-1_b", "good one", "reviewed"], aliases: [] });
  expect(await read(two)).toMatchObject({ tags: ["reviewed"], aliases: ["latest"] });
  expect(await objects.listTags(of.project_id)).toEqual(["a-1_b", "good one", "reviewed"]);
  await objects.removeTags({ ...of, digest: one, tags: ["reviewed", "never there"] });
  expect(await read(one)).toMatchObject({ tags: ["a-1_b", "good one"] });
  expect(await read(two)).toMatchObject({ tags: ["reviewed"] });
});

test("an alias means one version and moves when it is set again", async () => {
  const { one, two, read, ...of } = await projectWithTwoVersions();
  await objects.setAliases({ ...of, digest: one, aliases: ["prod", "Zebra", "candidate"] });
  expect(await read("prod")).toMatchObject({ digest: one, aliases: ["Zebra", "candidate", "prod"] });
  await objects.setAliases({ ...of, digest: "latest", aliases: ["prod"] });
  expect(await read("prod")).toMatchObject({ digest: two, aliases: ["latest", "prod"] });
  expect(await objects.listAliases(of.project_id)).toEqual(["Zebra", "candidate", "prod"]);
  await objects.removeAliases({ ...of, aliases: ["prod", "never there"] });
  await expect(read("prod")).rejects.toMatchObject({ code: "not_found" });
  expect(await read("candidate")).toMatchObject({ digest: one });
});

test("an alias that moves from an op to another object leaves the op", async () => {
  const { one, read, ...of } = await projectWithTwoVersions();
  const val = '{"_type": "CustomWeaveType", "weave_type": {"type": "Op"}}';
  const op = await objects.create({ ...of, val });
  await objects.setAliases({ ...of, digest: op.digest, aliases: ["prod"] });
  await objects.setAliases({ ...of, digest: one, aliases: ["prod"] });
  expect(await read("prod")).toMatchObject({ digest: one });
  expect(await read(op.digest)).toMatchObject({ aliases: ["latest"] });
});

test("labels of missing and deleted versions are not found", async () => {
  const { one, ...of } = await projectWithTwoVersions();
  await objects.delete({ ...of, digests: [one] });
  for (const digest of [one, "v9", "nothing"]) {
    await expect(objects.addTags({ ...of, digest, tags: ["t"] })).rejects.toMatchObject({ code: "not_found" });
    await expect(objects.removeTags({ ...of, digest, tags: ["t"] })).rejects.toMatchObject({ code: "not_found" });
    await expect(objects.setAliases({ ...of, digest, aliases: ["a"] })).rejects.toMatchObject({ code: "not_found" });
  }
  await objects.removeAliases({ ...of, object_id: "no such object", aliases: ["a"] });
});

test("labels with other characters are refused, with their location", async () => {
  const { one, ...of } = await projectWithTwoVersions();
  for (const tag of ["", " a", "a  b", "a/b", "x".repeat(257)]) {
    await expect(objects.addTags({ ...of, digest: one, tags: ["fine", tag] })).rejects.toMatchObject({
      code: "invalid",
      loc: ["tags", 1],
    });
  }
  for (const alias of ["", " ", "a/b", "a:b", "latest", "v1", "x".repeat(129)]) {
    const wrong = { code: "invalid", loc: ["aliases", 0] };
    await expect(objects.setAliases({ ...of, digest: one, aliases: [alias] })).rejects.toMatchObject(wrong);
    await expect(objects.removeAliases({ ...of, aliases: [alias] })).rejects.toMatchObject(wrong);
  }
  expect(await objects.listTags(of.project_id)).toEqual([]);
});
