import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import Database from "libsql";
import { afterAll, expect, test, vi } from "vitest";
import { engineQuery } from "./engine-query.js";
import { finished, heddle, openHeddle } from "./heddle-process.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

// What cannot start says why in one line and ends with code 1. A port in use, a second start and wrong settings are in
// start.test.ts and config.test.ts as well; here all of it is seen from outside.
const directories: string[] = [];
afterAll(() => directories.forEach((path) => rmSync(path, { recursive: true, force: true })));
function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), "heddle-refused-"));
  directories.push(path);
  return path;
}

async function refusal(env: Record<string, string>, as?: { uid: number }): Promise<string> {
  const { code, out, err } = await finished(heddle(["serve"], { HEDDLE_PORT: "0", ...env }, as));
  expect({ code, out, lines: err.split("\n").length }, err).toEqual({ code: 1, out: "", lines: 2 });
  return err;
}

test("an unknown setting", async () => {
  expect(await refusal({ HEDDLE_DATA_DIR: temporary(), HEDDLE_PROT: "1" })).toMatch(
    /^heddle: HEDDLE_PROT is not a setting of this version\. Known: HEDDLE_HOST/,
  );
});

test("a data directory that cannot be made", async () => {
  const file = join(temporary(), "file");
  writeFileSync(file, "");
  expect(await refusal({ HEDDLE_DATA_DIR: join(file, "data") })).toMatch(/cannot create the data directory .* ENOTDIR/);
});

// Root may write everywhere, so it starts the service as another user; other users make a directory read-only.
test("a data directory that cannot be written", async () => {
  const path = temporary();
  const sealed = join(path, "sealed");
  mkdirSync(sealed, { mode: 0o555 });
  const root = process.getuid?.() === 0;
  expect(await refusal({ HEDDLE_DATA_DIR: sealed, HOME: path }, root ? { uid: 65_534 } : undefined)).toMatch(
    /^heddle: cannot (create|write in) the data directory .* Set HEDDLE_DATA_DIR\.$/m,
  );
});

test("a control plane that is not a database: half-written, or cut short", async () => {
  const path = temporary();
  writeFileSync(join(path, "control.db"), "SQLite format 3\0and then the power went");
  expect(await refusal({ HEDDLE_DATA_DIR: path })).toMatch(
    /^heddle: the control plane is corrupt: .*control\.db: restore it from a backup\n$/,
  );
});

test("a data directory of a newer version", async () => {
  const path = temporary();
  const file = join(path, "control.db");
  await (await openControlPlane({ url: pathToFileURL(file).href })).close();
  const database = new Database(file);
  const [table] = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%migration%'")
    .all() as { name: string }[];
  database.exec(`INSERT INTO ${table?.name} (version, name, applied_at) VALUES (9999, 'later', 0)`);
  database.close();
  expect(await refusal({ HEDDLE_DATA_DIR: path })).toMatch(/^heddle: .*newer/);
});

test("a second start, a newer tracing database, one that is corrupted; a first start that was interrupted is completed, and lost rows are reported", async () => {
  const running = await openHeddle();
  try {
    const env = { HEDDLE_DATA_DIR: running.data };
    expect(await refusal(env)).toMatch(`in use by process ${running.pid()}. Stop that one, or set HEDDLE_DATA_DIR.`);
    const port = new URL(running.url).port;
    expect(await refusal({ HEDDLE_DATA_DIR: temporary(), HEDDLE_PORT: port })).toMatch(
      `port ${port} on 127.0.0.1 is in use. Set HEDDLE_PORT (0 picks a free one).`,
    );
    const engine = (sql: string) => engineQuery(join(running.data, "clickhouse", "engine.sock"), sql);
    // As after a power loss in the first start: some tables and the ledger are not there.
    await engine("DROP TABLE trace.calls SYNC");
    await engine("DROP TABLE trace.schema_migrations SYNC");
    // And a part that the disk has not kept.
    await engine("INSERT INTO trace.call_names (project_id, id, display_name, version) VALUES ('a/b', 'c', 'name', 1)");
    const [part] = await engine("SELECT path FROM system.parts WHERE table = 'call_names' AND active");
    await running.end("SIGKILL");
    truncateSync(join(part ?? "", "data.bin"), 1);
    await running.start();
    expect(await engine("EXISTS trace.calls")).toEqual(["1"]);
    expect(running.log()).toMatch(/the table call_names lacks the rows of 1 corrupt part\(s\), kept as .*detached/);

    await engine("INSERT INTO trace.schema_migrations (version, name, checksum) VALUES (9999, 'later', 'x')");
    await running.end("SIGTERM");
    expect(await refusal(env)).toMatch(/^heddle: The tracing database "trace" has schema version 9999/);
    const store = join(running.data, "clickhouse", "store");
    rmSync(store, { recursive: true, force: true });
    writeFileSync(store, "");
    expect(await refusal(env)).toMatch(/^heddle: the tracing database cannot be opened: .*Not a directory/);
  } finally {
    await running.remove();
    rmSync(running.data, { recursive: true, force: true });
  }
}, 240_000);
