import { createHash, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileDigest } from "@heddle/trace-model";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { engineQuery } from "./engine-query.js";
import { finished, heddle, openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { wire } from "./wire.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const projectId = "faults/lost";
const copies = mkdtempSync(join(tmpdir(), "heddle-lost-"));
const sound = join(copies, "sound");
const months = ["01", "02", "03", "04"];
const lostFile = Buffer.from("the bytes that are lost");
let service: HeddleProcess;
/** Directory of the part with the calls of a month. */
let parts: Map<string, string>;
let soundCheck: { status: number; parts: Check };

beforeAll(async () => {
  service = await openHeddle();
  const client = wire(service.url);
  for (const month of months) {
    const batch = Array.from({ length: 20 }, (_, index) =>
      callParts(`${month}-${index}`, `2026-${month}-01T00:00:00Z`),
    );
    await client.ask("/call/upsert_batch", { batch: batch.flat() });
  }
  for (const bytes of [lostFile, Buffer.from("kept")]) {
    expect((await client.post("/file/create", fileForm(bytes))).status).toBe(200);
  }
  const sql = "SELECT partition_id, path FROM system.parts WHERE active AND database = 'trace' AND table = 'calls'";
  const rows = await engineQuery(join(service.data, "clickhouse", "engine.sock"), sql);
  parts = new Map(rows.map((row) => row.split("\t") as [string, string]).map(([id, path]) => [id.slice(4), path]));
  expect([...parts.keys()].toSorted()).toEqual(months);
  soundCheck = await systemCheck();
  await service.end("SIGTERM");
  expect(existsSync(join(service.data, "losses.jsonl"))).toBe(false);
  cpSync(service.data, sound, { recursive: true, verbatimSymlinks: true });
});
afterAll(async () => {
  await service.remove();
  rmSync(copies, { recursive: true, force: true });
});

function fileForm(bytes: Buffer<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append("project_id", projectId);
  form.append("file", new Blob([bytes]), "file.txt");
  return form;
}

function callParts(id: string, startedAt: string) {
  const start = { project_id: projectId, id, trace_id: id, op_name: "work", started_at: startedAt, attributes: {} };
  const inputs = { text: randomBytes(600).toString("hex") };
  return [
    { mode: "start", req: { start: { ...start, inputs } } },
    { mode: "end", req: { end: { project_id: projectId, id, ended_at: startedAt, output: null, summary: {} } } },
  ];
}

/** Makes the stopped service as it was, without what `lose` takes away. */
function afterLosing(lose: () => void): void {
  rmSync(service.data, { recursive: true, force: true });
  cpSync(sound, service.data, { recursive: true, verbatimSymlinks: true });
  lose();
}

function flipByte(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes.writeUInt8((bytes.at(middle) ?? 0) ^ 1, middle);
  writeFileSync(file, bytes);
}

const partOf = (month: string) => parts.get(month) ?? "";

type Check = Record<"traces" | "control_plane" | "blobs" | "trainer" | "sampler", { status: string; lost: string[] }>;

async function systemCheck(): Promise<{ status: number; parts: Check }> {
  const { status, text } = await wire(service.url).get("/v1/system-check");
  return { status, parts: (JSON.parse(text) as { parts: Check }).parts };
}

async function read(month: string) {
  const { status, text } = await wire(service.url).post("/call/read", { project_id: projectId, id: `${month}-3` });
  return { status, found: text.includes(`"id":"${month}-3"`), text };
}

async function runs(use: () => Promise<void>): Promise<string> {
  const before = service.log().length;
  await service.start();
  try {
    await use();
  } finally {
    await service.end("SIGTERM");
  }
  return service.log().slice(before);
}

test("nothing is reported before anything is lost", () => {
  expect(soundCheck.status).toBe(200);
  expect(soundCheck.parts).toMatchObject({
    traces: { status: "ok", error: null, lost: [], latency: expect.any(Number) },
    control_plane: { status: "ok", error: null, lost: [] },
    blobs: { status: "ok", error: null, lost: [] },
    trainer: { status: "ok", lost: [] },
    sampler: { status: "ok", lost: [] },
  });
});

test("a lost part, a flipped byte, a part that the start cannot read and a lost blob are told apart; the rest stays readable", async () => {
  const sha256 = createHash("sha256").update(lostFile).digest("hex");
  const blob = join("blobs", "sha256", sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  afterLosing(() => {
    rmSync(partOf("01"), { recursive: true });
    flipByte(join(partOf("02"), "data.bin"));
    flipByte(join(partOf("03"), "skp_idx_i_version.idx2"));
    rmSync(join(service.data, blob));
  });
  const log = await runs(async () => {
    expect(await read("01")).toMatchObject({ status: 200, found: false });
    const corrupt = await read("02");
    expect(corrupt).toMatchObject({
      status: 500,
      text: expect.stringMatching(/table calls, part 202602_\w+, cannot be read/),
    });
    expect(await read("03")).toMatchObject({ status: 200, found: false });
    expect(await read("04")).toMatchObject({ status: 200, found: true });

    // Writes that are committed together with one about a call that cannot be read.
    const client = wire(service.url);
    const end = { project_id: projectId, id: "02-5", ended_at: "2026-06-01T00:00:00Z", output: 1, summary: {} };
    const writes = Array.from({ length: 10 }, (_, index) => [
      client.post("/call/end", { end }),
      client.post("/call/start", callParts(`new-${index}`, "2026-06-01T00:00:00Z")[0]?.req),
    ]);
    const statuses = (await Promise.all(writes.flat())).map(({ status }) => status);
    expect(statuses).toEqual(Array.from({ length: 10 }, () => [500, 200]).flat());

    const file = (name: string) => client.post("/file/content", { project_id: projectId, digest: name });
    const lost = await file(fileDigest(lostFile));
    expect(lost).toMatchObject({ status: 500, text: expect.stringContaining("are lost: send the file again") });
    expect(lost.headers.get("x-should-retry")).toBe("false");
    expect(await file(fileDigest(Buffer.from("unknown")))).toMatchObject({ status: 404 });

    // Its result may be some seconds old.
    await expect.poll(async () => (await systemCheck()).parts.blobs.lost, { timeout: 10_000 }).not.toEqual([]);
    const { status, parts: found } = await systemCheck();
    expect(status).toBe(200);
    expect(found.traces.status).toBe("degraded");
    expect(found.traces.lost.toSorted()).toEqual([
      expect.stringMatching(/^The stored data of the table calls, part 202602_\w+, cannot be read/),
      expect.stringMatching(/^The table calls lacks 20 row\(s\) of 1 part\(s\) that it had: 202601_/),
      expect.stringMatching(/^The table calls lacks the rows of the part 202603_\w+, which cannot be read/),
    ]);
    expect(found.blobs).toMatchObject({ status: "degraded", lost: ["Bytes of files are lost or corrupt"] });
    expect(JSON.stringify(found)).not.toContain(service.data);

    // What is sent again is there again, and what the operator has dealt with is not reported.
    expect((await client.post("/file/create", fileForm(lostFile))).status).toBe(200);
    expect(await file(fileDigest(lostFile))).toMatchObject({ status: 200, text: String(lostFile) });
    rmSync(join(service.data, "losses.jsonl"));
    await expect
      .poll(async () => (await systemCheck()).parts.traces, { timeout: 10_000 })
      .toMatchObject({ status: "ok", lost: [] });
  });
  expect(log).toMatch(
    /The table calls lacks 20 row\(s\).*; restore a backup, or delete .*losses\.jsonl to accept it\n/,
  );
  expect(log).toContain(`${blob.slice("blobs/".length)} is missing`);
});

test("the lost metadata of a table and an emptied file store are reported, at each start until they are dealt with", async () => {
  afterLosing(() => {
    const metadata = readdirSync(join(service.data, "clickhouse"), { recursive: true, encoding: "utf8" });
    const file = metadata.find((name) => name.startsWith("store/") && name.endsWith("/calls.sql")) ?? "none";
    rmSync(join(service.data, "clickhouse", file));
    rmSync(join(service.data, "blobs"), { recursive: true });
  });
  const lost = [expect.stringMatching(/^The table calls lacks 80 row\(s\) of 4 part\(s\) that it had: /)];
  const first = await runs(async () => {
    const { parts: found } = await systemCheck();
    expect(found.traces).toMatchObject({ status: "degraded", lost });
    expect(found.blobs).toMatchObject({ lost: ["The file store is empty, and the tracing database has files"] });
  });
  expect(first).toMatch(/lacks 80 row/);
  const second = await runs(async () => expect((await systemCheck()).parts.traces).toMatchObject({ lost }));
  expect(second).toMatch(
    /noticed on .*: The table calls lacks 80 row\(s\).*; delete .*losses\.jsonl when you have dealt/,
  );
});

test("an emptied tracing database that meets a control plane with projects is reported", async () => {
  afterLosing(() => {
    rmSync(join(service.data, "clickhouse"), { recursive: true });
    rmSync(join(service.data, "trace-parts.json"));
  });
  const lost = "The tracing database was empty when it met a control plane with 1 project(s)";
  const log = await runs(async () => expect((await systemCheck()).parts.traces.lost).toEqual([lost]));
  expect(log).toContain(lost);
});

test.each([
  ["missing", (file: string) => rmSync(file)],
  ["empty", (file: string) => writeFileSync(file, "")],
])("a control plane that is %s is missing, not new", async (_, lose) => {
  afterLosing(() => {
    for (const name of readdirSync(service.data)) if (name.startsWith("control.db-")) rmSync(join(service.data, name));
    lose(join(service.data, "control.db"));
  });
  const { code, err } = await finished(heddle(["serve"], { HEDDLE_DATA_DIR: service.data, HEDDLE_PORT: "0" }));
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(
      /^heddle: .*control\.db, the database of keys, users and projects, is missing, and .*restore it/,
    ),
  });
  expect(existsSync(join(service.data, "control.db-wal"))).toBe(false);
});

test("a restore that is killed at any moment leaves a directory that does not start", async () => {
  afterLosing(() => {});
  const backup = join(copies, "backup");
  expect(await finished(heddle(["backup", backup], { HEDDLE_DATA_DIR: service.data }))).toMatchObject({ code: 0 });
  const target = join(copies, "target");
  const restore = heddle(["restore", backup], { HEDDLE_DATA_DIR: target });
  const ended = finished(restore);
  // The engine has only begun to start.
  await expect.poll(() => existsSync(join(target, "clickhouse")), { interval: 2, timeout: 20_000 }).toBe(true);
  restore.kill("SIGKILL");
  await ended;
  const { code, err } = await finished(heddle(["serve"], { HEDDLE_DATA_DIR: target, HEDDLE_PORT: "0" }));
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("did not finish. Empty the directory") });
});
