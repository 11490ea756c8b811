import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test, vi } from "vitest";
import { banner, shownKey } from "../../src/boot/banner.js";
import { finished } from "./heddle-process.js";
import type { Child } from "./heddle-process.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "heddle-secrets-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** `heddle …` in a shell with this umask. */
function heddleWith(umask: string, args: string[], data: string): Child {
  const main = join(inject("compiled"), "@heddle/service/dist/main.js");
  const script = `umask ${umask}; exec "$@"`;
  return spawn("sh", ["-c", script, "sh", process.execPath, main, ...args], {
    env: { PATH: process.env["PATH"], HEDDLE_DATA_DIR: data, HEDDLE_PORT: "0", HEDDLE_OTLP_GRPC_PORT: "off" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Starts the service and resolves with all that it has printed when it listens. */
async function started(child: Child): Promise<{ out: string; url: string }> {
  let out = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      if (/open .*\/docs\n/.test(out)) resolve();
    });
    child.once("close", () => reject(new Error(out)));
  });
  return { out, url: /listening on\s+(\S+)/.exec(out)?.[1] ?? "" };
}

/** Everything below a directory that another user could open, were the directory itself open to all. */
function open(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => (statSync(join(path, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077)
    .toSorted();
}

describe.each(["000", "022"])("with umask %s and directories that exist and are open to all,", (umask) => {
  test("databases, files and backups are for their owner alone, a start warns, and the key is in no log", async () => {
    const data = join(directory, `data-${umask}`);
    const backup = join(directory, `backup-${umask}`);
    const restored = join(directory, `restored-${umask}`);
    for (const path of [data, backup, restored]) {
      mkdirSync(path);
      chmodSync(path, 0o755);
    }
    const service = heddleWith(umask, ["serve"], data);
    try {
      const { out, url } = await started(service);
      const key = readFileSync(join(data, "api-key"), "utf8").trim();
      expect(out).not.toContain(key);
      expect(out).toContain(`API key       in ${join(data, "api-key")}\n`);
      expect(out).toContain(`other users of this machine may open ${data} (mode 755): chmod -R go= ${data}\n`);
      const form = new FormData();
      form.append("project_id", "local/secret");
      form.append("file", new Blob(["secret"]), "secret.txt");
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(`${url}/file/create`, { method: "POST", headers, body: form })).status).toBe(200);
      expect(open(data)).toEqual([]);
      expect(readdirSync(data)).toEqual(expect.arrayContaining(["control.db", "control.db-wal", "control.db-shm"]));
      expect(await finished(heddleWith(umask, ["backup", backup], data))).toMatchObject({ code: 0, err: "" });
      expect(open(backup)).toEqual([]);
      expect(await finished(heddleWith(umask, ["restore", backup], restored))).toMatchObject({ code: 0, err: "" });
      expect(open(restored)).toEqual([]);
    } finally {
      const ended = finished(service);
      service.kill("SIGKILL");
      await ended;
    }
  });
});

test("a terminal shows the key once, and the lines to paste read it from its file", () => {
  const key = "k".repeat(40);
  const printed = (file: string | undefined, isTerminal: boolean) =>
    banner({ url: "http://h", key: shownKey(key, file, isTerminal), projectId: "local/demo", readyMs: 1 });
  expect(printed("/data/api-key", true).split(key)).toHaveLength(2);
  expect(printed("/data/api-key", true)).toContain(`curl -s -u "api:$(cat '/data/api-key')" http://h/`);
  expect(printed("/it's/api-key", false)).toContain(`$(cat '/it'\\''s/api-key')`);
  for (const isTerminal of [true, false]) {
    expect(printed(undefined, isTerminal)).not.toContain(key);
    expect(printed(undefined, isTerminal)).toContain(`-u "api:$HEDDLE_API_KEY"`);
  }
});
