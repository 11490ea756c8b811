import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { batchOf } from "./batch-of.js";
import { idsIn } from "./ids-in.js";
import { ReplicaLoad } from "./replica-load.js";
import { controlPlanes, openReplicas, replicaNames } from "./replica-set.js";
import type { ReplicaName, ReplicaSet } from "./replica-set.js";
import { untilTaken } from "./until-taken.js";

// Three replicas and three tracing databases, each of which one replica works on.

const names = replicaNames;
const shards = ["main", "east", "west"] as const;
/** Projects are put where the fewest are: each of these is in another database. */
const projects = ["first", "second", "third"] as const;
/** `pnpm faults` has ten thousand. */
const writes = process.env["FAULT_ROUNDS"] === undefined ? 24 : 10_000;
/** Milliseconds; those before are older. */
const firstAt = Date.parse("2026-04-10T09:00:01Z");
/** No replica loses one because the machine is busy for a while, also in the many minutes of many writes. */
const leaseSeconds = writes > 1000 ? 20 : 6;

describe.each(controlPlanes)("shards with a control plane on %s", { timeout: 180_000 }, (_, makeControlPlane) => {
  let set: ReplicaSet;
  beforeAll(
    async () => (set = await openReplicas(makeControlPlane, { shards: ["east", "west"], lease: leaseSeconds })),
    120_000,
  );
  afterAll(async () => await set.remove());
  const polling = { timeout: 30_000, interval: 200 };

  /** The replicas that work on a shard, each once, as the command says; nobody may work on several here. */
  async function owners(): Promise<ReplicaName[]> {
    const owned = await ownersOf();
    return [...new Set(owned.values())];
  }

  async function ownersOf(): Promise<Map<string, ReplicaName>> {
    const { out } = await finished(heddle(["members", "--json"], { HEDDLE_DATABASE_URL: set.databaseUrl }));
    const members = JSON.parse(out) as { address: string; shards: string[] }[];
    const nameOf = (address: string) => names.find((name) => set.urlOf(name) === address);
    const entries = members.flatMap(({ address, shards: worked }) => worked.map((shard) => [shard, nameOf(address)]));
    return new Map(entries as [string, ReplicaName][]);
  }

  test("each replica works on one of them, and each new project is put where the fewest are", async () => {
    await expect.poll(owners, polling).toHaveLength(3);
    expect([...(await ownersOf()).keys()].toSorted()).toEqual([...shards].toSorted());
    for (const [i, project] of projects.entries())
      expect(await write(set.urlOf(names[i]!), project, "first-call")).toBe(200);
    const { out } = await finished(heddle(["shards", "--json"], { HEDDLE_DATABASE_URL: set.databaseUrl }));
    expect(JSON.parse(out)).toEqual(shards.map((name) => ({ name, open: true, projects: 1 })));
  });

  test(
    "what one replica acknowledges, every other one shows at once, however it is asked, whichever shard it is in",
    async () => {
      // One client of each project: the newest call is its own.
      const client = async (project: string, first: number) => {
        for (let i = first, stored = 2; i < writes; i += projects.length, stored++) {
          const at = names[stored % 3]!;
          const from = names[(stored + 1 + (i % 2)) % 3]!;
          const id = `read-your-write-${i}`;
          expect(await write(set.urlOf(at), project, id, new Date(firstAt + i).toISOString())).toBe(200);
          const url = set.urlOf(from);
          const found = await Promise.all([
            read(url, project, id),
            newestOf(url, project),
            countOf(url, project),
            tracedIn(url, project, id),
            statsOf(url, project),
          ]);
          expect(found, `${id} at ${from}, written at ${at}`).toEqual([200, id, stored, [id], stored]);
          if ((i + 1) % 1000 === 0) console.log(`${i + 1} writes were shown at once`);
        }
      };
      await Promise.all(projects.map(async (project, first) => await client(project, first)));
      for (const name of names) {
        for (const project of projects) {
          const ids = await idsOf(set.urlOf(name), project);
          expect(await countOf(set.urlOf(name), project)).toBe(ids.length);
          expect(new Set(ids).size).toBe(ids.length);
        }
      }
    },
    180_000 + writes * 300,
  );

  test("a batch over the projects of several replicas is stored whole, and a bad item of one does not touch the others", async () => {
    const [good, bad] = [
      projects.flatMap((project) => batchOf(project, "in-a-batch").batch),
      batchOf("second", "").batch,
    ];
    const body = { batch: [...good.slice(0, 3), ...bad, ...good.slice(3)] };
    const response = await post(set.urlOf("a"), "/call/upsert_batch", body);
    expect(response.status).toBe(200);
    for (const project of projects) {
      for (const name of names) expect(await read(set.urlOf(name), project, "in-a-batch")).toBe(200);
    }
  });

  test("refs that lead into several shards are read in order", async () => {
    const refs: string[] = [];
    for (const project of projects) {
      const body = { obj: { project_id: `local/${project}`, object_id: "config", val: { of: project } } };
      const { digest } = (await (await post(set.urlOf("b"), "/obj/create", body)).json()) as { digest: string };
      refs.push(`weave:///local/${project}/object/config:${digest}`);
    }
    const response = await post(set.urlOf("c"), "/refs/read_batch", { refs: refs.toReversed() });
    expect(await response.json()).toEqual({ vals: projects.toReversed().map((of) => ({ of })) });
  });

  test("a project that is deleted and made again has nothing of before, at any replica", async () => {
    expect(await write(set.urlOf("a"), "again", "before")).toBe(200);
    for (const name of names) expect(await read(set.urlOf(name), "again", "before")).toBe(200);
    // It moves to another shard: in that of before there are now more projects than elsewhere.
    const deleted = await fetch(`${set.urlOf("b")}/project/delete`, {
      method: "POST",
      headers,
      body: JSON.stringify({ project_id: "local/again", expected_name: "again" }),
    });
    expect(deleted.status).toBe(200);
    for (const [i, name] of names.entries()) {
      expect(await write(set.urlOf(name), "again", `after-${i}`)).toBe(200);
    }
    for (const name of names) expect(await idsOf(set.urlOf(name), "again")).toEqual(["after-0", "after-1", "after-2"]);
  });

  test("one data directory is for one replica", async () => {
    const settings = { ...set.env, HEDDLE_API_KEY: ownerKey, HEDDLE_PORT: "0", HEDDLE_DATA_DIR: set.replicas.a.data };
    const { code, err } = await finished(heddle(["serve"], settings));
    expect(code).toBe(1);
    expect(err).toMatch(/^heddle: .* is in use by process \d+\. Stop that one, or set HEDDLE_DATA_DIR\.\n$/);
  });

  test("calls of a store that no replica has signed are refused by each", async () => {
    for (const name of names) {
      for (const signature of ["", "abc", ownerKey]) {
        const response = await fetch(`${set.urlOf(name)}/heddle-replica/shards/main`, {
          method: "POST",
          headers: { authorization, "heddle-store-call": signature },
          body: "{}",
        });
        expect(response.status).toBe(401);
      }
    }
  });

  test("a batch over two hundred projects is stored whole while the databases of one replica move", async () => {
    const many = Array.from({ length: 200 }, (_, i) => `many-${i}`);
    const body = { batch: many.flatMap((project) => batchOf(project, `of-${project}`).batch) };
    const [ending, ...others] = names;
    const moving = set.replicas[ending].end("SIGTERM");
    const sent = Promise.all(
      others.map(async (name) => (await post(set.urlOf(name), "/call/upsert_batch", body)).status),
    );
    expect(await sent).toEqual([200, 200]);
    expect((await moving).code).toBe(0);
    await set.replicas[ending].start();
    const { out } = await finished(heddle(["shards", "--json"], { HEDDLE_DATABASE_URL: set.databaseUrl }));
    for (const { projects: count } of JSON.parse(out) as { projects: number }[]) expect(count).toBeGreaterThan(60);
    for (const [i, project] of many.entries()) {
      if (i % 10 === 0) expect(await idsOf(set.urlOf(names[i % 3]!), project)).toEqual([`of-${project}`]);
    }
    await expect.poll(owners, polling).toHaveLength(3);
  });

  test("three restarts in turn, under load: no write fails that is sent once more after a 503", async () => {
    const up = new Set(names);
    const load = new ReplicaLoad(projects, () => [...up].map((name) => set.urlOf(name)));
    for (const name of names) {
      await expect.poll(owners, polling).toHaveLength(3);
      for (const project of projects) load.longestPause(project);
      up.delete(name);
      expect((await set.replicas[name].end("SIGTERM")).code).toBe(0);
      await delay(1500);
      const pauses = projects.map((project) => load.longestPause(project));
      console.log(`${name} ended in order: the longest pause of each database in ms: ${pauses.join(", ")}`);
      await set.replicas[name].start();
      up.add(name);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    for (const project of projects) {
      expect(load.acknowledged(project).length).toBeGreaterThan(10);
      for (const name of names) {
        const ids = await idsOf(set.urlOf(name), project);
        expect(ids).toEqual(expect.arrayContaining(load.acknowledged(project)));
        expect(new Set(ids).size).toBe(ids.length);
      }
    }
    await expect.poll(owners, polling).toHaveLength(3);
  });

  test("when the owner of one shard is killed, the others see nothing, and it is worked on again after its lease", async () => {
    const owned = await ownersOf();
    const victim = owned.get("east")!;
    const coordinator = owned.get("main")!;
    const others = names.filter((name) => name !== victim);
    const inEast = projects[1];
    const elsewhere = projects.filter((project) => project !== inEast);
    if (victim === coordinator) throw new Error("one replica works on two shards");
    const { batch } = batchOf(inEast, "doomed");
    expect((await post(set.urlOf("a"), "/call/upsert_batch", { batch: batch.slice(0, 1) })).status).toBe(200);
    await set.replicas[victim].end("SIGKILL");
    const began = performance.now();
    // Both wait for the next owner, in any order.
    const deleted = post(set.urlOf(others[0]!), "/calls/delete", {
      project_id: `local/${inEast}`,
      call_ids: ["doomed"],
    });
    const late = post(set.urlOf(others[1]!), "/call/upsert_batch", { batch: batch.slice(1) });
    const acknowledged: string[] = [];
    let isBack = false;
    const waiting = (async () => {
      for (let i = 0; !isBack; i++) {
        const status = await write(set.urlOf(others[i % 2]!), inEast, `after-kill-${i}`).catch(() => 0);
        if (status === 200) {
          acknowledged.push(`after-kill-${i}`);
          isBack = true;
        } else await delay(100);
      }
      return performance.now() - began;
    })();
    for (let i = 0; i < 20; i++) {
      const project = elsewhere[i % 2]!;
      if (owned.get(shards[projects.indexOf(project)]!) === victim) continue;
      expect(await write(set.urlOf(others[i % 2]!), project, `meanwhile-${i}`)).toBe(200);
    }
    console.log(
      `writes to a shard whose owner was killed go on after ${Math.round(await waiting)} ms, with a lease of ${leaseSeconds} s`,
    );
    expect([(await deleted).status, (await late).status]).toEqual([200, 200]);
    for (const name of others) {
      const ids = await idsOf(set.urlOf(name), inEast);
      expect(ids).toEqual(expect.arrayContaining(["in-a-batch", ...acknowledged]));
      expect(ids).not.toContain("doomed");
    }
    await set.replicas[victim].start();
    await expect.poll(owners, polling).toHaveLength(3);
    expect(await idsOf(set.urlOf(victim), inEast)).toEqual(expect.arrayContaining(acknowledged));
  });

  test("a project is moved while no replica runs, and every replica has it in its new place", async () => {
    const move = async (project: string, to: string) =>
      await finished(
        heddle(["shards", "move", project, to], {
          ...set.env,
          HEDDLE_API_KEY: ownerKey,
          HEDDLE_DATA_DIR: `${set.replicas.a.data}-move`,
        }),
      );
    const refused = await move("local/second", "west");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("Stop the replicas first");
    const before = await idsOf(set.urlOf("a"), "second");
    await Promise.all(names.map(async (name) => await set.replicas[name].end("SIGTERM")));
    const { code, out, err } = await move("local/second", "west");
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toContain("local/second is in west.");
    expect((await move("local/second", "west")).err).toContain("is in west already");
    expect((await move("local/none", "west")).err).toContain("There is no project local/none");
    expect((await move("local/second", "north")).err).toContain("There is no tracing database north");
    await Promise.all(names.map(async (name) => await set.replicas[name].start()));
    for (const name of names) expect(await idsOf(set.urlOf(name), "second")).toEqual(before);
    expect(await write(set.urlOf("b"), "second", "after-the-move")).toBe(200);
    expect(await read(set.urlOf("c"), "second", "after-the-move")).toBe(200);
  });

  test("a list that lacks a shard which is noted is refused in one line", async () => {
    const shortened = set.env["HEDDLE_SHARDS"]!.split(",").slice(0, 1).join(",");
    for (const list of [shortened, "none"]) {
      const settings = { ...set.env, HEDDLE_SHARDS: list, HEDDLE_API_KEY: ownerKey, HEDDLE_PORT: "0" };
      const { code, err } = await finished(
        heddle(["serve"], { ...settings, HEDDLE_DATA_DIR: `${set.replicas.a.data}-short` }),
      );
      expect(code).toBe(1);
      expect(err).toContain("HEDDLE_SHARDS");
      expect(err).toContain("is noted, and is not configured");
      expect(err.trim().split("\n")).toHaveLength(1);
    }
  });
});

const authorization = `Bearer ${ownerKey}`;
const headers = { authorization, "content-type": "application/json" };

async function post(url: string, path: string, body: unknown): Promise<Response> {
  return await untilTaken(async () => await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function write(url: string, project: string, id: string, startedAt?: string): Promise<number> {
  const response = await post(url, "/call/upsert_batch", batchOf(project, id, startedAt));
  await response.text();
  return response.status;
}

async function read(url: string, project: string, id: string): Promise<number> {
  const response = await post(url, "/call/read", { project_id: `local/${project}`, id });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const { call } = JSON.parse(text) as { call?: { id: string } };
  expect(call?.id).toBe(id);
  return response.status;
}

async function newestOf(url: string, project: string): Promise<string | undefined> {
  const newestFirst = [{ field: "started_at", direction: "desc" }];
  const [id] = await idsIn(
    await post(url, "/calls/stream_query", { project_id: `local/${project}`, sort_by: newestFirst, limit: 1 }),
  );
  return id;
}

/** The calls of the trace that is named for an id. */
async function tracedIn(url: string, project: string, id: string): Promise<string[]> {
  const body = { project_id: `local/${project}`, filter: { trace_ids: [id] } };
  return await idsIn(await post(url, "/calls/stream_query", body));
}

/** How many calls the statistics of the hour have. */
async function statsOf(url: string, project: string): Promise<number> {
  const body = {
    project_id: `local/${project}`,
    start: "2026-04-10T09:00:00Z",
    end: "2026-04-10T10:00:00Z",
    granularity: 3600,
    call_metrics: [{ metric: "latency_ms", aggregations: ["avg"] }],
  };
  const text = await (await post(url, "/calls/stats", body)).text();
  const { call_buckets: buckets } = JSON.parse(text) as { call_buckets: { count: number }[] };
  return buckets.reduce((sum, { count }) => sum + count, 0);
}

async function countOf(url: string, project: string): Promise<number> {
  const response = await post(url, "/calls/query_stats", { project_id: `local/${project}` });
  return ((await response.json()) as { count: number }).count;
}

/** Ids of every call, in order. */
async function idsOf(url: string, project: string): Promise<string[]> {
  return await idsIn(await post(url, "/calls/stream_query", { project_id: `local/${project}` }));
}
