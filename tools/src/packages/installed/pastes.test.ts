import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { readGuides } from "../../docs/guides.js";
import { runService } from "./run-service.js";

const { project } = inject("installed");
const run = promisify(execFile);
const guides = readGuides(join(import.meta.dirname, "../../../../packages/docs"), false).flatMap(
  (group) => group.guides,
);

/** What a guide has one paste into a terminal. */
const pasteOf = (name: string) =>
  /^```sh\n(export HEDDLE_API_KEY.*?)^```$/ms.exec(guides.find((guide) => guide.name === name)?.markdown ?? "")?.[1];

const programs = [
  "evaluate-a-model",
  "learn-from-thumbs",
  "trace-to-training",
  "train-with-examples",
  "train-with-rewards",
];

test("the guides that are one program begin with the same paste", () => {
  const pastes = programs.map((name) => pasteOf(name)?.replaceAll(name, "…"));
  expect(pastes[0]).toBeDefined();
  expect(new Set(pastes).size).toBe(1);
});

test("the paste runs its program in the directory in which the service was started", { timeout: 240_000 }, async () => {
  const { url, key } = await runService(project);
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "heddle-user-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const clone = join(directory, "heddle");
  mkdirSync(join(clone, ".heddle"), { recursive: true });
  writeFileSync(join(clone, ".heddle/api-key"), `${key}\n`);
  const command = pasteOf("trace-to-training")!.replaceAll("http://127.0.0.1:4680", url).trimEnd();
  const env = { ...process.env, HEDDLE_URL: url };
  const { stdout } = await run("bash", ["--norc", "-e", "-c", `${command} 1`], { cwd: clone, env });
  expect(stdout).toMatch(/^round {2}1 of 1 {2}[█·]{20} {2}mean rating [01]\.\d\d$/m);
});
