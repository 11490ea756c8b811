import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import { openDatabase } from "../src/database/open-database.js";

/** What a user may expect of deletions of projects on any backend. `make` gives the URL of an empty database. */
export function projectDeletionCases(backEnd: string, make: () => Promise<string>): void {
  const open = async (url: string) => {
    const plane = await openControlPlane({ url });
    onTestFinished(async () => await plane.close());
    return plane;
  };

  describe(`deletions of projects on ${backEnd}`, () => {
    test("that have begun are known to the next process, until they are finished", async () => {
      const url = await make();
      const first = await open(url);
      const project = await first.projects.ensure("acme", "demo");
      await first.projectDeletions.begin("acme/demo", "ann");
      await first.projectDeletions.begin("acme/demo", "bob");
      const second = await open(url);
      expect(second.projectDeletions.has("acme/demo")).toBe(true);
      expect(second.projectDeletions.has("acme/other")).toBe(false);
      expect(await second.projectDeletions.list()).toEqual(["acme/demo"]);
      await second.projectDeletions.finish("acme/demo");
      expect(second.projectDeletions.has("acme/demo")).toBe(false);
      expect(await second.projectDeletions.list()).toEqual([]);
      expect(await second.projects.get("acme", "demo")).toBeUndefined();
      expect((await second.projects.ensure("acme", "demo")).id).not.toBe(project.id);
    });

    test("leave nothing in any table, and what other projects have", async () => {
      const url = await make();
      const plane = await open(url);
      for (const name of ["demo", "other"]) await fill(plane, `acme/${name}`);
      const database = openDatabase(url);
      onTestFinished(async () => await database.close());
      const tables =
        backEnd === "SQLite"
          ? "SELECT name FROM sqlite_master WHERE type = 'table'"
          : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()";
      const names = (await database.rows(tables)).map(({ name }) => String(name));
      const rowsOf = async (table: string) =>
        (await database.rows(`SELECT * FROM "${table}"`)).map((row) => Object.values(row).join(" "));
      const countOf = async () => {
        const counts = await Promise.all(names.map(async (table) => [table, (await rowsOf(table)).length] as const));
        return Object.fromEntries(counts);
      };
      const both = await countOf();
      await plane.projectDeletions.finish("acme/demo");
      for (const table of names) expect((await rowsOf(table)).filter((row) => row.includes("acme/demo"))).toEqual([]);
      const left = await countOf();
      const shared = new Set([
        "instance",
        "schema_migrations",
        "schema_additions",
        "url_signing_key",
        "users",
        "api_keys",
        "leases",
      ]);
      for (const table of names) {
        if (shared.has(table)) expect([table, left[table]]).toEqual([table, both[table]]);
        else expect([table, left[table]]).toEqual([table, (both[table] ?? 0) / 2]);
      }
      expect(Object.values(left).filter((count) => count > 0).length).toBeGreaterThan(5);
    });
  });
}

async function fill(plane: Awaited<ReturnType<typeof openControlPlane>>, projectId: string): Promise<void> {
  const [entity = "", name = ""] = projectId.split("/");
  await plane.projects.ensure(entity, name);
  await plane.annotationQueues.create({
    id: `q ${name}`,
    project_id: projectId,
    name: "q",
    description: "",
    scorer_refs: [],
    created_by: "ann",
  });
  await plane.trackingRuns.upsert({ project_id: projectId, name: "run", created_by: "ann" }, { config: "{}" });
  await plane.trainingModels.create({
    id: `m ${name}`,
    checkpoint_id: `c ${name}`,
    project_id: projectId,
    name: "m",
    base_model: "heddle/starter",
    run_id: "r",
    created_by: "ann",
  });
}
