import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { moveToShard } from "../../src/boot/move-to-shard.js";
import type { Running } from "../../src/boot/start.js";
import { readConfig } from "../../src/config/config.js";
import { batchOf } from "./batch-of.js";
import { ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { openSharedStores } from "./shared-stores.js";
import type { SharedStores } from "./shared-stores.js";
import { untilTaken } from "./until-taken.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let stores: SharedStores;
let control: ControlPlane;
let replica: Running;
beforeAll(async () => {
  stores = await openSharedStores(["east", "west"]);
  replica = await stores.start("replica");
  control = await openControlPlane({ url: stores.databaseUrl });
});
afterAll(async () => {
  await replica.close();
  await control.close();
  await stores.remove();
});

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const post = async (path: string, body: unknown) => {
  return await untilTaken(
    async () => await fetch(replica.url + path, { method: "POST", headers, body: JSON.stringify(body) }),
  );
};
const idsOf = async (project: string) =>
  await idsIn(await post("/calls/stream_query", { project_id: `local/${project}` }));
const projects = Array.from({ length: 200 }, (_, i) => `project-${i}`);
const batch = (id: string) => ({ batch: projects.flatMap((project) => batchOf(project, id).batch) });
const shardOf = async (project: string) => await control.shards.of("local", project);

/** A move that has copied everything and waits before it says so. */
async function beginMove(project: string, target: string) {
  let goOn = () => {};
  const going = new Promise<void>((resolve) => (goOn = resolve));
  let reached = () => {};
  const copied = new Promise<void>((resolve) => (reached = resolve));
  const shards = {
    ...control.shards,
    async move(...where: Parameters<ControlPlane["shards"]["move"]>) {
      reached();
      await going;
      await control.shards.move(...where);
    },
  };
  const moved = moveToShard(readConfig(stores.settingsOf("mover")), { ...control, shards }, `local/${project}`, target);
  await Promise.race([copied, moved]);
  return { goOn, moved };
}

test("a batch over two hundred projects of three databases, one of which moves meanwhile, is stored where each is", async () => {
  expect((await post("/call/upsert_batch", batch("before"))).status).toBe(200);
  await replica.close();
  const [moving] = projects;
  expect(await shardOf(moving!)).toBe("main");
  const { goOn, moved } = await beginMove(moving!, "east");
  // Two of the databases are those of the move: what is for them waits, the third goes on.
  replica = await stores.start("replica");
  const during = post("/call/upsert_batch", batch("during"));
  const others: string[] = [];
  for (const project of projects) if ((await shardOf(project)) === "west") others.push(project);
  expect(others.length).toBeGreaterThan(60);
  await expect.poll(async () => await idsOf(others[0]!), { timeout: 60_000 }).toEqual(["before", "during"]);
  goOn();
  await moved;
  expect((await during).status).toBe(200);
  expect(await shardOf(moving!)).toBe("east");
  for (const [i, project] of projects.entries()) {
    if (i % 20 === 0 || i < 3) expect(await idsOf(project), project).toEqual(["before", "during"]);
  }
  // And sent again it changes nothing.
  expect((await post("/call/upsert_batch", batch("during"))).status).toBe(200);
  expect(await idsOf(moving!)).toEqual(["before", "during"]);
});
