import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { annotationQueueCases } from "../../test/annotation-queue-cases.js";
import { artifactCases } from "../../test/artifact-cases.js";
import { controlPlaneCases } from "../../test/cases.js";
import { jobCases } from "../../test/job-cases.js";
import { projectDeletionCases } from "../../test/project-deletion-cases.js";
import { shardCases } from "../../test/shard-cases.js";
import { linkCases } from "../../test/link-cases.js";
import { sessionCases } from "../../test/session-cases.js";
import { trackingRunCases } from "../../test/tracking-run-cases.js";
import { trainingJobCases } from "../../test/training-job-cases.js";
import { trainingModelCases } from "../../test/training-model-cases.js";
import { openControlPlane } from "../index.js";
import type { Statements } from "./database.js";
import { openSqlite } from "./sqlite.js";

const directories: string[] = [];
afterAll(async () => {
  await Promise.all(directories.map(async (path) => await rm(path, { recursive: true })));
});

async function path(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "heddle-control-"));
  directories.push(directory);
  return join(directory, "control plane.db");
}

controlPlaneCases("SQLite", async () => pathToFileURL(await path()).href);
annotationQueueCases("SQLite", async () => pathToFileURL(await path()).href);
jobCases("SQLite", async () => pathToFileURL(await path()).href);
trainingJobCases("SQLite", async () => pathToFileURL(await path()).href);
trainingModelCases("SQLite", async () => pathToFileURL(await path()).href);
artifactCases("SQLite", async () => pathToFileURL(await path()).href);
projectDeletionCases("SQLite", async () => pathToFileURL(await path()).href);
sessionCases("SQLite", async () => pathToFileURL(await path()).href);
shardCases("SQLite", async () => pathToFileURL(await path()).href);
linkCases("SQLite", async () => pathToFileURL(await path()).href);
trackingRunCases("SQLite", async () => pathToFileURL(await path()).href);

test("every commit is on disk before it is acknowledged, and foreign keys hold", async () => {
  const database = openSqlite(await path());
  const [synchronous] = await database.rows("PRAGMA synchronous");
  const [journal] = await database.rows("PRAGMA journal_mode");
  const [foreign] = await database.rows("PRAGMA foreign_keys");
  expect({ ...synchronous, ...journal, ...foreign }).toEqual({
    synchronous: 2n,
    journal_mode: "wal",
    foreign_keys: 1n,
  });
  await database.close();
});

test("a database URL without a backend is refused by name", async () => {
  await expect(openControlPlane({ url: "mysql://host/heddle" })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("no backend for mysql:"),
  });
});

test("a database file that cannot be opened or is none is named", async () => {
  const file = await path();
  const missing = pathToFileURL(join(file, "no", "such", "control.db")).href;
  await expect(openControlPlane({ url: missing })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(
      `the control-plane database ${join(file, "no", "such", "control.db")} cannot be opened`,
    ),
  });
  await writeFile(file, "no database at all, but long enough to have a header that could be read as one ".repeat(20));
  await expect(openControlPlane({ url: pathToFileURL(file).href })).rejects.toMatchObject({
    code: "busy",
    message: "the control plane is corrupt",
    cause: { message: `${file}: restore it from a backup` },
  });
});

test("a write waits for another connection's transaction instead of failing", async () => {
  const file = await path();
  const [first, second] = [openSqlite(file), openSqlite(file)];
  await first.run("CREATE TABLE notes (id TEXT)");
  const slow = first.transaction(async (inside) => {
    await inside.run("INSERT INTO notes (id) VALUES ($1)", ["slow"]);
    await setTimeout(100);
  });
  await second.run("INSERT INTO notes (id) VALUES ($1)", ["patient"]);
  await slow;
  expect(await second.rows("SELECT id FROM notes ORDER BY id")).toEqual([{ id: "patient" }, { id: "slow" }]);
  await Promise.all([first.close(), second.close()]);
});

test("a write that waited too long for another process keeps no later transaction from being committed", async () => {
  const url = await path();
  const [holder, database, other] = [openSqlite(url), openSqlite(url), openSqlite(url)];
  await holder.run("CREATE TABLE notes (id TEXT)");
  await holder.transaction(async (open) => {
    await open.run("INSERT INTO notes (id) VALUES ('holder')");
    const busy = { code: "busy", message: "another process holds the control plane" };
    const returning = "INSERT INTO notes (id) VALUES ('late') RETURNING id";
    await Promise.all([
      expect(database.run("INSERT INTO notes (id) VALUES ('late')")).rejects.toMatchObject(busy),
      expect(other.rows(returning)).rejects.toMatchObject(busy),
    ]);
  });
  for (const waited of [database, other]) {
    await waited.transaction(async (open) => await open.run("INSERT INTO notes (id) VALUES ('next')"));
  }
  expect(await holder.rows("SELECT id FROM notes ORDER BY id")).toMatchObject([{ id: "holder" }, { id: "next" }, {}]);
  await Promise.all([holder.close(), database.close(), other.close()]);
});

test.each(["in a transaction", "one after the other"])(
  "many statements let others work in between: %s",
  async (how) => {
    const database = openSqlite(await path());
    await database.run("CREATE TABLE notes (id TEXT)");
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const enough = () => turns > 3;
    let read: Promise<unknown> | undefined;
    const write = async (statements: Statements) => {
      // A machine that is busy gives this process few turns; statements that let nobody in between have none.
      for (const began = performance.now(); !enough() && performance.now() - began < 10_000;) {
        await statements.run("INSERT INTO notes (id) VALUES ($1)", ["x".repeat(1000)]);
        read ??= database.rows("SELECT count(*) > 1 AS all_of_them FROM notes");
      }
    };
    await (how === "in a transaction" ? database.transaction(write) : write(database));
    clearInterval(timer);
    expect(enough()).toBe(true);
    // Nobody sees a transaction before its end.
    expect(await read).toEqual([{ all_of_them: how === "in a transaction" ? 1n : 0n }]);
    await database.close();
  },
);

test("a full disk asks for another try, reads go on, and writes work when there is space again", async () => {
  const database = openSqlite(await path());
  await database.run("CREATE TABLE notes (text TEXT)");
  const write = async () => await database.run("INSERT INTO notes VALUES ($1)", ["x".repeat(100_000)]);
  const [pages] = await database.rows("PRAGMA page_count");
  await database.rows(`PRAGMA max_page_count = ${pages?.["page_count"]}`);
  const full = { code: "busy", message: "the disk of the control plane is full" };
  await expect(write()).rejects.toMatchObject(full);
  await expect(
    database.transaction(async (open) => await open.run("INSERT INTO notes VALUES ($1)", ["x".repeat(100_000)])),
  ).rejects.toMatchObject(full);
  expect(await database.rows("SELECT count(*) AS n FROM notes")).toEqual([{ n: 0n }]);
  await database.rows("PRAGMA max_page_count = 100000");
  await write();
  await database.close();
});
