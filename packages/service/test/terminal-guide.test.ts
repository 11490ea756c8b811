import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { openHeddle, ownerKey } from "./faults/heddle-process.js";
import type { HeddleProcess } from "./faults/heddle-process.js";

// Each command is a process of its own; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const run = promisify(execFile);
const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/terminal.md"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "heddle-terminal-"));
let service: HeddleProcess;

beforeAll(async () => {
  service = await openHeddle();
  // Where the guide is followed: the directory in which the service was started, with heddle installed.
  symlinkSync(service.data, join(directory, ".heddle"));
  writeFileSync(join(service.data, "api-key"), `${ownerKey}\n`);
  const command = join(directory, "heddle");
  writeFileSync(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${inject("compiled")}/@heddle/service/dist/main.js" "$@"\n`,
  );
  chmodSync(command, 0o755);
});
afterAll(async () => {
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** Everything the guide says to type, in order, and what it says is printed. */
const blocks = [...guide.matchAll(/^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)];

test("the guide of the terminal does what it says, as it is pasted", async () => {
  const script = blocks.map(([, typed]) => `${typed}echo "--- end of block"\n`).join("");
  const { stdout } = await run(
    "bash",
    ["--norc", "-e", "-c", script.replaceAll("http://127.0.0.1:4680", service.url)],
    {
      cwd: directory,
      env: { PATH: `${directory}:${process.env["PATH"]}`, HOME: directory },
    },
  );
  const printed = stdout.split("--- end of block\n");
  expect(blocks.length).toBeGreaterThan(6);
  for (const [index, [, typed = "", expected]] of blocks.entries())
    if (expected !== undefined)
      expect(`${typed}${printed[index]?.replaceAll("\r\n", "\n")}`).toBe(`${typed}${expected}`);
  const table = new Uint8Array(readFileSync(join(directory, "calls.parquet"))).buffer;
  expect((await parquetReadObjects({ file: table })).map(({ id }) => id as string)).toEqual([
    "answer-1",
    "chat-1",
    "lookup-1",
  ]);
  const { secret } = JSON.parse(readFileSync(join(directory, "ann.json"), "utf8")) as { secret: string };
  expect(secret).toMatch(/^\w{40}$/);
  expect(printed[6]).toContain("ann");
});
