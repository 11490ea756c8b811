import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTracingClient } from "@heddle/client";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { finished, heddle, openHeddle, ownerKey } from "./faults/heddle-process.js";
import type { HeddleProcess } from "./faults/heddle-process.js";

// Each command is a process of its own; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "heddle-reading-"));
const big = "107505301260286111";
const exact = `{"n": ${big}, "price": 1.0, "evil": "\\u001b[2J \u009B31m\u202E"}`;
const projectId = "local/shop";
let service: HeddleProcess;
let env: Record<string, string>;

beforeAll(async () => {
  service = await openHeddle();
  env = { HEDDLE_URL: service.url, HEDDLE_API_KEY: ownerKey, HOME: directory };
  const at = (second: number) => `2026-03-01T09:00:${String(second).padStart(2, "0")}.000001Z`;
  const call = (id: string, parentId: string | undefined, opName: string, second: number, rest: object) => [
    {
      mode: "start",
      req: {
        start: {
          project_id: projectId,
          id,
          trace_id: "t1",
          op_name: opName,
          started_at: at(second),
          attributes: {},
          inputs: {},
          ...(parentId && { parent_id: parentId }),
        },
      },
    },
    {
      mode: "end",
      req: { end: { project_id: projectId, id, ended_at: at(second + 1), output: null, summary: {}, ...rest } },
    },
  ];
  const usage = {
    usage: { "gpt-4o": { requests: 1, prompt_tokens: 1000, completion_tokens: 204, total_tokens: 1204 } },
  };
  const batch = [
    ...call("root", undefined, "answer\u001B]0;owned\u0007", 1, {}),
    ...call("chat", "root", "chat", 2, { summary: usage }),
    ...call("tool", "root", "lookup", 3, { exception: "no such \u001B[31mitem" }),
  ];
  const body = JSON.stringify({ batch }).replace('"inputs":{}', () => `"inputs":${exact}`);
  const response = await fetch(`${service.url}/call/upsert_batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`api:${ownerKey}`)}`, "content-type": "application/json" },
    body,
  });
  expect(response.status).toBe(200);
});
afterAll(async () => {
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

const run = async (args: string[], more: Record<string, string> = {}) => finished(heddle(args, { ...env, ...more }));

test("calls are a table or lines of JSON with every digit, and no payload reaches the terminal as a command", async () => {
  const [table, failed, searched, json, none] = await Promise.all([
    run(["calls"]),
    run(["calls", "--project", "shop", "--status", "error", "--since", "2026-03-01", "--until", "2026-03-02"]),
    run(["calls", "-p", projectId, "--search", "such", "--limit", "5"]),
    run(["calls", "--json", "--roots"]),
    run(["calls", "--op", "nothing"]),
  ]);
  expect(table).toMatchObject({ code: 0, err: "" });
  expect(table.out.split("\n").map((line) => line.split(/ {2,}/)[0])).toEqual(["ID", "tool", "chat", "root", ""]);
  expect(table.out).toMatch(/^chat +2026-03-01 09:00:02 +success +chat +1 s +1,204 +0\.\d+/m);
  expect(table.out).toContain("answer⟨1B⟩]0;owned⟨07⟩");
  expect(failed.out).toMatch(/^ID[^\n]*\ntool [^\n]*no such ⟨1B⟩\[31mitem\n$/);
  expect(searched.out).toMatch(/^ID[^\n]*\ntool [^\n]*\n$/);
  expect(json.out).toContain(`"inputs":{"n": ${big}, "price": 1.0, "evil": "\\u001b[2J \\u009b31m\\u202e"}`);
  expect(JSON.parse(json.out)).toMatchObject({ id: "root", started_at: "2026-03-01T09:00:01.000001Z" });
  expect(none).toEqual({ code: 0, out: "", err: "No call of local/shop matches.\n" });
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  for (const { out } of [table, failed, searched, json])
    // oxlint-disable-next-line no-control-regex -- what a terminal obeys
    expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
});

test("a trace is shown by its id or by that of a call", async () => {
  const [whole, last, both, below, json, unknown] = await Promise.all([
    run(["trace", "t1"]),
    run(["trace", "--last"]),
    run(["trace", "t1", "--last"]),
    run(["trace", "chat"]),
    run(["trace", "t1", "--json"]),
    run(["trace", "nowhere"]),
  ]);
  expect(whole).toMatchObject({ code: 0, err: "" });
  expect(whole.out).toMatch(/^├─ chat .* 1,204 +0\.\d+$/m);
  expect(whole.out).toMatch(/^└─ lookup .* error .*\n {6}! no such ⟨1B⟩\[31mitem$/m);
  expect(whole.out).toMatch(/\n3 calls, 3 s, 1,204 tokens, cost 0\.\d+, 1 failed\n$/);
  expect(last).toEqual(whole);
  expect(both).toMatchObject({ code: 2, out: "" });
  expect(below.out).toMatch(/^CALL[^\n]*\nchat [^\n]*\n\n1 call,/);
  expect(
    json.out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id),
  ).toEqual(["root", "chat", "tool"]);
  expect(unknown).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining("no trace and no call nowhere") as string,
  });
});

test("an export goes to stdout or a file, whole", async () => {
  const file = join(directory, "calls.csv");
  const table = join(directory, "calls.parquet");
  const [lines, csv, parquet, wrong] = await Promise.all([
    run(["export", "--roots"]),
    run(["export", "--format", "csv", "--select", "id", "--select", "inputs.n", "-o", file]),
    run(["export", "--format", "parquet", "--roots", "--output", table]),
    run(["export", "--format", "xlsx"]),
  ]);
  expect(lines.out).toContain(exact);
  expect(lines.err).toMatch(/ exported\n$/);
  expect(csv).toMatchObject({ code: 0, out: "" });
  expect(readFileSync(file, "utf8").trim().split(/\r?\n/)).toEqual(["id,inputs.n", `root,${big}`, "chat,", "tool,"]);
  expect(parquet).toMatchObject({ code: 0, out: "" });
  expect(await parquetReadObjects({ file: new Uint8Array(readFileSync(table)).buffer })).toMatchObject([
    { id: "root", inputs: exact, started_at: new Date("2026-03-01T09:00:01.000Z") },
  ]);
  expect(wrong).toMatchObject({
    code: 2,
    err: expect.stringContaining('--format must be one of jsonl, csv, chat_jsonl, parquet, not "xlsx"') as string,
  });
});

test("projects and keys are lines of JSON, too", async () => {
  const local = { HEDDLE_DATA_DIR: service.data };
  const [table, json, created] = await Promise.all([
    run(["projects"]),
    run(["projects", "--json"]),
    run(["keys", "create", "--user", "ann", "--json"], local),
  ]);
  expect(table.out).toMatch(/^PROJECT .*\nlocal\/shop +3 /);
  expect(JSON.parse(json.out)).toMatchObject({ project_id: projectId, call_count: 3, running: 0 });
  const key = JSON.parse(created.out) as { id: string; secret: string };
  expect((await run(["projects", "--json"], { HEDDLE_API_KEY: key.secret })).out).toBe(json.out);
  expect(JSON.parse((await run(["keys", "list", "--json"], local)).out)).toMatchObject({
    id: key.id,
    user_name: "ann",
  });
  expect((await run(["keys", "list", "--json"], local)).out).not.toContain(key.secret);
  expect(JSON.parse((await run(["keys", "revoke", key.id, "--json"], local)).out)).toMatchObject({ id: key.id });
});

test("changes are followed, and go on after the service was away", async () => {
  const tracing = createTracingClient({ baseUrl: service.url, apiKey: ownerKey });
  const child = heddle(["calls", "-f", "--op", "followed", "--project", projectId], env);
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const add = async (id: string) =>
    tracing.callStart({
      start: {
        project_id: projectId,
        id,
        trace_id: id,
        op_name: "followed",
        started_at: "2026-03-02T00:00:00Z",
        attributes: {},
        inputs: {},
      },
    });
  const until = async (text: string, act: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; !out.includes(text) && turn < 300; turn++) {
      await act(turn);
      await delay(200);
    }
    expect(out).toContain(text);
  };
  try {
    // The first ones may come before it follows.
    await until("first-", (turn) => add(`first-${turn}`));
    await service.end("SIGTERM");
    await service.start();
    await add("second");
    await until("second", async () => undefined);
    expect(out).toMatch(/^ID .*\nfirst-/);
  } finally {
    child.kill("SIGKILL");
  }
});

test("what is wrong is one line that says what to do", async () => {
  const elsewhere = "http://127.0.0.1:1";
  const [noKey, refused, away, badUrl, badTime, badStatus, badId, badQuery] = await Promise.all([
    run(["calls", "--url", elsewhere], { HEDDLE_API_KEY: "", HEDDLE_DATA_DIR: service.data }),
    run(["calls"], { HEDDLE_API_KEY: "wrong" }),
    run(["projects", "--url", elsewhere]),
    run(["projects", "--url", "nowhere"]),
    run(["calls", "--since", "yesterday"]),
    run(["calls", "--status", "failed"]),
    run(["trace"]),
    run(["calls", "--query", '{"$expr": {"$eq": [{"$getField": "nonsense"}, {"$literal": 1}]}}']),
  ]);
  expect([noKey, refused, away, badUrl, badTime, badStatus, badId, badQuery].map(({ code }) => code)).toEqual([
    1, 1, 1, 2, 2, 2, 2, 1,
  ]);
  expect(noKey.err).toBe(
    `heddle: A key is needed for ${elsewhere}: set HEDDLE_API_KEY. It is made there by heddle keys create.\n`,
  );
  expect(refused.err).toContain("does not know the key. Set HEDDLE_API_KEY");
  expect(away.err).toMatch(/^heddle: No service answers at http:\/\/127\.0\.0\.1:1: [^\n]*HEDDLE_URL or --url\.\n$/);
  expect(badUrl.err).toContain('--url must be an address of a service, as http://127.0.0.1:4680, not "nowhere"');
  expect(badTime.err).toContain('--since must be 15m, 2h or 7d ago, or a time as 2026-11-27T09:00Z, not "yesterday"');
  expect(badStatus.err).toContain("--status must be one of success, error");
  expect(badId.err).toContain("the id of one trace or call is needed");
  expect(badQuery.err).toContain("nonsense");
});

test("a reader that has seen enough ends the command without a word", async () => {
  const main = join(inject("compiled"), "@heddle/service/dist/main.js");
  const line = `for i in 1 2 3 4 5 6 7 8; do "$0" "$1" export || exit 3; done | head -c 10`;
  const child = spawn("bash", ["-c", line, process.execPath, main], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { code, out, err } = await finished(child);
  expect({ code, out: out.length }).toEqual({ code: 0, out: 10 });
  expect(err.split("\n").filter((text) => !text.endsWith(" exported"))).toEqual([""]);
});

test("the settings of this machine are enough for its own service", async () => {
  const local = { HEDDLE_URL: "", HEDDLE_API_KEY: ownerKey, HEDDLE_PORT: new URL(service.url).port };
  expect((await run(["projects"], local)).out).toContain("local/shop");
});
