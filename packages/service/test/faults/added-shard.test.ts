import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readConfig } from "../../src/config/config.js";
import { startService } from "../../src/boot/start.js";
import { batchOf } from "./batch-of.js";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { openSharedStores } from "./shared-stores.js";
import type { SharedStores } from "./shared-stores.js";
import { untilTaken } from "./until-taken.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let stores: SharedStores;
beforeAll(async () => (stores = await openSharedStores(["east"])));
afterAll(async () => await stores.remove());

test("a tracing database that is added later gets new projects when the command says so, and not before", async () => {
  const settings = stores.settingsOf("replica");
  const shards = async (...args: string[]) => await finished(heddle(["shards", ...args], settings));
  const listed = async () => JSON.parse((await shards("--json")).out) as unknown;
  const first = await stores.start("replica");
  const early = await shards("add", "west");
  expect([early.code, early.err]).toEqual([1, expect.stringMatching(/west: add it to HEDDLE_SHARDS of every replica/)]);
  await first.close();

  const [east = ""] = settings["HEDDLE_SHARDS"]!.split(",");
  settings["HEDDLE_SHARDS"] = `${east},${east.replaceAll("east", "west")}`;
  const replica = await startService(readConfig(settings), { writeLog: () => {} });
  const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
  const post = async (path: string, body: unknown) =>
    await untilTaken(
      async () => await fetch(replica.url + path, { method: "POST", headers, body: JSON.stringify(body) }),
    );
  const write = async (project: string) => (await post("/call/upsert_batch", batchOf(project, `of-${project}`))).status;
  const before = ["one", "two", "three", "four"];
  for (const project of before) expect(await write(project)).toBe(200);
  const places = (west: object) => [
    { name: "main", open: true, projects: 2 },
    { name: "east", open: true, projects: 2 },
    { name: "west", ...west },
  ];
  expect(await listed()).toEqual(places({ open: false, projects: 0 }));

  expect(await shards("add", "west")).toEqual({ code: 0, err: "", out: "New projects may be put in west.\n" });
  for (const project of ["five", "six"]) expect(await write(project)).toBe(200);
  expect(await listed()).toEqual(places({ open: true, projects: 2 }));
  for (const project of [...before, "five", "six"])
    expect(await idsIn(await post("/calls/stream_query", { project_id: `local/${project}` }))).toEqual([
      `of-${project}`,
    ]);
  await replica.close();
});
