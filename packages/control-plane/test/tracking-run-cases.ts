import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ControlPlane } from "../src/index.js";

const project = "acme/demo";
const other = "acme/other";

/** What a client may expect of the runs that it tracks on any back end. `make` gives the URL of an empty database. */
export function trackingRunCases(backEnd: string, make: () => Promise<string>): void {
  async function open(): Promise<{ plane: ControlPlane; clock: { now: bigint }; url: string }> {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const plane = await openControlPlane({ url, now: () => clock.now });
    onTestFinished(async () => await plane.close());
    return { plane, clock, url };
  }

  describe(`tracking runs on ${backEnd}`, () => {
    test("a run is made once, changed by its fields and deleted with its history, in its own project only", async () => {
      const { plane, clock } = await open();
      const runs = plane.trackingRuns;
      const named = { project_id: project, name: "run 1", created_by: "ann" };
      const fields = { display_name: "first %\0\ud800", config: '{"lr":1.0}', tags: ["a"] };
      const { run, created } = await runs.upsert(named, fields);
      expect(created).toBe(true);
      expect(run).toMatchObject({ ...named, fields, history_rows: 0, created_at: clock.now });
      clock.now += 5n;
      const again = await runs.upsert({ ...named, created_by: "bob" }, { summary: "{}", tags: [] });
      expect(again).toEqual({
        created: false,
        run: { ...run, fields: { ...fields, summary: "{}", tags: [] }, updated_at: clock.now },
      });
      expect(await runs.get(project, "run 1")).toEqual(again.run);
      for (const [projectId, name] of [
        [other, "run 1"],
        [project, "nul\0"],
        [project, "x".repeat(300)],
      ] as const) {
        expect(await runs.get(projectId, name)).toBeUndefined();
        expect(await runs.delete(projectId, name)).toBe(false);
      }
      for (const name of ["", "a/b", "nul\0", "x".repeat(300)])
        await expect(runs.upsert({ ...named, name }, {})).rejects.toMatchObject({ code: "unprocessable" });
      await runs.writeHistory(named, 0, ['{"a":1}']);
      expect(await runs.delete(project, "run 1")).toBe(true);
      expect(await runs.get(project, "run 1")).toBeUndefined();
    });

    test("rows of the history that are sent again replace themselves", async () => {
      const { plane } = await open();
      const runs = plane.trackingRuns;
      const named = { project_id: project, name: "run", created_by: "ann" };
      await expect(runs.writeHistory(named, 0, ["{}"])).rejects.toMatchObject({ code: "not_found" });
      await runs.upsert(named, {});
      const rows = Array.from({ length: 250 }, (_, n) => `{"n":${n},"text":"%\0"}`);
      await runs.writeHistory(named, 0, rows.slice(0, 200));
      await runs.writeHistory(named, 150, rows.slice(150));
      expect((await runs.get(project, "run"))?.history_rows).toBe(250);
      expect(await runs.readHistory({ ...named, start: 0, limit: 1000 })).toEqual(rows);
      expect(await runs.readHistory({ ...named, start: 249, limit: 10 })).toEqual(rows.slice(249));
      expect(await runs.readHistory({ ...named, project_id: other, start: 0, limit: 10 })).toEqual([]);
      await expect(runs.writeHistory(named, 999_999, ["{}", "{}"])).rejects.toMatchObject({ code: "too_large" });
    });

    test("what others ask for runs between the parts of a long history, and one whose client has left ends", async () => {
      const { plane } = await open();
      const runs = plane.trackingRuns;
      const named = { project_id: project, name: "run", created_by: "ann" };
      await runs.upsert(named, {});
      const rows = Array.from({ length: 5000 }, (_, n) => `{"n":${n}}`);
      const order: string[] = [];
      const writing = runs.writeHistory(named, 0, rows).then(() => order.push("written"));
      const others = Array.from({ length: 3 }, async () => {
        await delay(0);
        await plane.projects.get("acme", "demo");
        order.push("read");
      });
      await Promise.all([writing, ...others]);
      expect(order).toEqual(["read", "read", "read", "written"]);
      expect((await runs.get(project, "run"))?.history_rows).toBe(5000);

      const left = new AbortController();
      const stopped = runs.writeHistory(named, 5000, rows, left.signal);
      left.abort(new Error("left"));
      await expect(stopped).rejects.toThrow("left");
      const written = (await runs.get(project, "run"))?.history_rows ?? 0;
      expect([written >= 5000, written < 10_000]).toEqual([true, true]);
      expect(await runs.delete(project, "run")).toBe(true);
      expect(await runs.has(project, "run")).toBe(false);
    });

    test("memory is asked for before rows, fields and manifests are read", async () => {
      const { plane } = await open();
      const { trackingRuns: runs, artifacts } = plane;
      const named = { project_id: project, name: "run", created_by: "ann" };
      const config = "x".repeat(300_000);
      await runs.upsert(named, { config });
      const rows = Array.from({ length: 12 }, () => JSON.stringify("é".repeat(50_000)));
      await runs.writeHistory(named, 0, rows);
      const asked: number[] = [];
      const reserve = async (bytes: number) => void asked.push(bytes);
      const refuse = async () => await Promise.reject(new Error("no memory"));
      expect(await runs.readHistory({ ...named, start: 1, limit: 10 }, reserve)).toEqual(rows.slice(1, 11));
      expect(asked).toEqual([10 * 100_002]);
      await expect(runs.readHistory({ ...named, start: 0, limit: 1 }, refuse)).rejects.toThrow("no memory");
      await runs.get(project, "run", reserve);
      expect(asked.at(-1)).toBeGreaterThan(300_000);
      await expect(runs.get(project, "run", refuse)).rejects.toThrow("no memory");
      await expect(runs.upsert(named, {}, refuse)).rejects.toThrow("no memory");

      const draft = await artifacts.drafts.add(named, { name: "data", type: "dataset", aliases: [] });
      expect(await artifacts.drafts.getManifest(draft.id, refuse)).toBeUndefined();
      await artifacts.drafts.setManifest(draft.id, config);
      await expect(artifacts.drafts.getManifest(draft.id, refuse)).rejects.toThrow("no memory");
      const version = { project_id: project, name: "data", type: "dataset", files: [], created_by: "ann" };
      await artifacts.commit({ ...version, description: "x".repeat(1000), metadata: "{}" });
      await artifacts.page({ project_id: project, name: "data", limit: 10, reserve });
      expect(asked.at(-1)).toBe(1002);
    });

    test("an announced version is kept until it is committed or too old", async () => {
      const { plane, clock } = await open();
      const { drafts } = plane.artifacts;
      const fields = { name: "data", type: "dataset", aliases: ["best"], metadata: '{"n":1.0}' };
      const draft = await drafts.add({ project_id: project, created_by: "ann" }, fields);
      expect(draft).toMatchObject({ ...fields, project_id: project, created_by: "ann" });
      expect(await drafts.getManifest(draft.id)).toBeUndefined();
      await drafts.setManifest(draft.id, '{"contents":"%\0"}');
      expect(await drafts.get(draft.id)).toEqual(draft);
      expect(await drafts.getManifest(draft.id)).toBe('{"contents":"%\0"}');
      await expect(drafts.setManifest("nul\0", "{}")).rejects.toMatchObject({ code: "not_found" });
      await expect(drafts.add(draft, { ...fields, name: "a/b" })).rejects.toMatchObject({ code: "unprocessable" });
      const large = { ...fields, aliases: Array.from({ length: 101 }, (_, n) => `a${n}`) };
      await expect(drafts.add(draft, large)).rejects.toMatchObject({ code: "too_large", loc: ["aliases"] });
      await drafts.forget(clock.now);
      expect(await drafts.get(draft.id)).toBeDefined();
      await drafts.forget(clock.now + 1n);
      expect(await drafts.get(draft.id)).toBeUndefined();
      const version = { ...fields, id: draft.id, project_id: project, files: [], created_by: "ann" };
      const first = await plane.artifacts.commit(version);
      expect(first).toMatchObject({ created: true, version: { id: draft.id } });
      expect(await plane.artifacts.commit(version)).toEqual({ ...first, created: false });
    });
  });
}
