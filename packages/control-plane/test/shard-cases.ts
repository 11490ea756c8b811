import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";

/** What replicas may expect of the tracing databases that they note. `make` gives the URL of an empty database. */
export function shardCases(backEnd: string, make: () => Promise<string>): void {
  async function open(url: string) {
    const plane = await openControlPlane({ url });
    onTestFinished(async () => await plane.close());
    return plane;
  }

  describe(`shards on ${backEnd}`, () => {
    test("with one database there is nothing to choose, and nothing is noted", async () => {
      const plane = await open(await make());
      await plane.shards.configure([]);
      await plane.projects.ensure("acme", "demo");
      expect(await plane.shards.of("acme", "demo")).toBe("main");
      expect(await plane.shards.list()).toEqual([{ name: "main", open: true, projects: 1 }]);
      await expect(plane.shards.add("east")).rejects.toMatchObject({ code: "not_found" });
    });

    test("projects of before stay where they are, and new ones are put where the fewest are, by every replica", async () => {
      const url = await make();
      const [one, other] = [await open(url), await open(url)];
      await one.projects.ensure("acme", "old");
      await Promise.all([one.shards.configure(["east", "west"]), other.shards.configure(["east", "west"])]);
      for (const [plane, name] of [
        [one, "second"],
        [other, "third"],
        [one, "fourth"],
      ] as const) {
        await plane.projects.ensure("acme", name);
      }
      const homes = await Promise.all(["old", "second", "third", "fourth"].map((name) => one.shards.of("acme", name)));
      expect(new Set(homes.slice(0, 3))).toEqual(new Set(["east", "main", "west"]));
      expect(homes[0]).toBe("main");
      expect(await other.shards.of("acme", "unknown")).toBeUndefined();
    });

    test("a database that is configured later takes new projects when it is added", async () => {
      const url = await make();
      const plane = await open(url);
      await plane.shards.configure(["east"]);
      await plane.shards.configure(["east", "west"]);
      for (let i = 0; i < 4; i++) await plane.projects.ensure("acme", `before-${i}`);
      const projectsIn = async (name: string) =>
        (await plane.shards.list()).find((shard) => shard.name === name)?.projects;
      expect(await projectsIn("west")).toBe(0);
      await (await open(url)).shards.add("west");
      await plane.projects.ensure("acme", "after");
      expect(await plane.shards.of("acme", "after")).toBe("west");
    });

    test("a list that lacks a database which is noted is refused, and changes nothing", async () => {
      const plane = await open(await make());
      await plane.shards.configure(["east", "west"]);
      for (const list of [[], ["east"], ["west", "north"]]) {
        await expect(plane.shards.configure(list)).rejects.toMatchObject({ code: "conflict" });
      }
      expect((await plane.shards.list()).map(({ name }) => name)).toEqual(["main", "east", "west"]);
    });

    test("each writer of a database gets a number that is greater than all before, at whichever replica", async () => {
      const url = await make();
      const [one, other] = [await open(url), await open(url)];
      expect(await one.writerEpochs.of("east")).toEqual({ given: 0n, stored: 0n });
      const given = await Promise.all(
        [one, other, one, other].map(async (plane) => await plane.writerEpochs.next("east")),
      );
      expect(new Set(given)).toEqual(new Set([1n, 2n, 3n, 4n]));
      await one.writerEpochs.noteStored("east", 3n);
      await other.writerEpochs.noteStored("east", 2n);
      expect(await other.writerEpochs.of("east")).toEqual({ given: 4n, stored: 3n });
      expect(await other.writerEpochs.next("main")).toBe(1n);
    });

    test("numbers go on after those of a database that has more of them", async () => {
      const plane = await open(await make());
      await plane.writerEpochs.advanceTo("east", 7n);
      expect(await plane.writerEpochs.next("east")).toBe(8n);
      await plane.writerEpochs.advanceTo("east", 5n);
      expect(await plane.writerEpochs.of("east")).toEqual({ given: 8n, stored: 7n });
    });

    test("who waits for a lease and does not want it leaves it to others", async () => {
      const url = await make();
      const [one, other] = [await open(url), await open(url)];
      let wants = false;
      const options = { durationMs: 300, onHolder: () => {} };
      const waiting = one.leases.follow("shard", { ...options, holder: "one", wants: () => wants });
      let isTaken = false;
      void waiting.then(() => (isTaken = true));
      await delay(400);
      expect(isTaken).toBe(false);
      const lease = await other.leases.acquire("shard", { holder: "other", durationMs: 300 });
      await lease.release();
      await delay(100);
      expect(isTaken).toBe(false);
      wants = true;
      await (await waiting)?.release();
    });
  });
}
