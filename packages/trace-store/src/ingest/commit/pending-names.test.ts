import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../../test/call-parts.js";
import { listCalls } from "../../../test/list-calls.js";
import { recordedReads } from "../../../test/recorded-reads.js";
import { testDatabase } from "../../../test/store.js";

const database = testDatabase();
afterAll(() => database.drop());

const hourUs = 3_600_000_000n;
let now = BigInt(Date.now()) * 1000n;
const limits = { pendingNames: 3, pendingNameUs: 24n * hourUs };
const store = await database.open({ now: () => now, limits });

async function names(projectId: string): Promise<Record<string, string | null>> {
  const calls = await listCalls(store, { project_id: projectId });
  return Object.fromEntries(calls.map(({ id, display_name }) => [id, display_name]));
}

test("names wait for their calls, up to a number that stored calls do not count to", async () => {
  const projectId = newProject();
  for (const id of ["a", "b", "c"]) await store.calls.rename(projectId, id, `early ${id}`);
  await expect(store.calls.rename(projectId, "d", "one too many")).rejects.toMatchObject({
    code: "rate_limited",
    message: expect.stringContaining("3 names of this project wait"),
  });
  await store.calls.rename(projectId, "c", "again");
  await store.calls.rename(newProject(), "d", "of another project");
  await store.ingest([startPart({ project_id: projectId, id: "a" }), completePart({ project_id: projectId, id: "b" })]);
  for (const id of ["a", "b"]) await store.calls.rename(projectId, id, `late ${id}`);
  await store.calls.rename(projectId, "d", "waits");
  await store.ingest([completePart({ project_id: projectId, id: "c" })]);
  expect(await names(projectId)).toEqual({ a: "late a", b: "late b", c: "again" });
});

test("a name whose call does not come is dropped after its time, and only that", async () => {
  const projectId = newProject();
  await store.ingest([
    startPart({ project_id: projectId, id: "running" }),
    completePart({ project_id: projectId, id: "done" }),
  ]);
  for (const id of ["running", "done", "never", "later"]) await store.calls.rename(projectId, id, `name of ${id}`);
  now += 25n * hourUs;
  await store.calls.rename(projectId, "later", "newer name");
  await store.maintain(true);
  await store.ingest(["never", "later"].map((id) => completePart({ project_id: projectId, id })));
  expect(await names(projectId)).toMatchObject({
    running: "name of running",
    done: "name of done",
    never: null,
    later: "newer name",
  });
});

test("the number counts after a restart too, for calls that are stored but not remembered", async () => {
  const projectId = newProject();
  await store.ingest([completePart({ project_id: projectId, id: "old", started_at: 1_000_000n })]);
  for (const id of ["a", "b", "c"]) await store.calls.rename(projectId, id, "early");
  const reopened = await database.open({ now: () => now, limits });
  await reopened.calls.rename(projectId, "old", "renamed");
  await expect(reopened.calls.rename(projectId, "d", "one too many")).rejects.toMatchObject({ code: "rate_limited" });
});

test("a project is read without its names once none is left", async () => {
  const reads = recordedReads();
  const watched = await database.open({ now: () => now, limits, wrapEngine: reads.wrap });
  const [projectId, other] = [newProject(), newProject()];
  await watched.ingest([projectId, other].map((id) => completePart({ project_id: id, id: "named" })));
  await watched.calls.rename(projectId, "never", "waits");
  await watched.calls.rename(other, "named", "stays");
  const looksForNames = async (id: string) => {
    reads.reset();
    await listCalls(watched, { project_id: id });
    return reads.readsTable("call_names");
  };
  expect(await looksForNames(projectId)).toBe(true);
  now += 25n * hourUs;
  await watched.maintain(true);
  expect(await looksForNames(projectId)).toBe(false);
  expect(await looksForNames(other)).toBe(true);
});
