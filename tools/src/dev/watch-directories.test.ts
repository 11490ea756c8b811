import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { watchDirectories } from "./watch-directories.js";

/** The files below a watched directory as the last run has seen them, and how to change them. */
function watched() {
  const directory = mkdtempSync(join(tmpdir(), "heddle-watch-"));
  const ending = new AbortController();
  const state = { seen: {} as Record<string, string>, runs: 0, errors: [] as unknown[] };
  const run = async () => {
    state.runs++;
    const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
    state.seen = Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), "utf8")]));
    if (Object.values(state.seen).includes("bad")) throw new Error("a bad file");
  };
  const ended = watchDirectories([directory], run, (error) => state.errors.push(error), { signal: ending.signal });
  onTestFinished(async () => {
    ending.abort();
    await ended;
    rmSync(directory, { recursive: true });
  });
  return { state, path: (name: string) => join(directory, name) };
}

test("changes, replaced files and files of new directories cause a run", async () => {
  const { state, path } = watched();
  await vi.waitFor(() => expect(state.runs).toBe(1));
  writeFileSync(path("a.yaml"), "1");
  await vi.waitFor(() => expect(state.seen).toEqual({ "a.yaml": "1" }));
  writeFileSync(path("b.tmp"), "2");
  renameSync(path("b.tmp"), path("a.yaml"));
  await vi.waitFor(() => expect(state.seen).toEqual({ "a.yaml": "2" }));
  writeFileSync(path("a.yaml"), "3");
  await vi.waitFor(() => expect(state.seen).toEqual({ "a.yaml": "3" }));
  mkdirSync(path("new"));
  await vi.waitFor(() => expect(state.runs).toBeGreaterThan(1));
  writeFileSync(path("new/c.yaml"), "4");
  await vi.waitFor(() => expect(state.seen).toEqual({ "a.yaml": "3", "new/c.yaml": "4" }));
});

test("a run that fails is reported, and the next change causes another", async () => {
  const { state, path } = watched();
  writeFileSync(path("a.yaml"), "bad");
  await vi.waitFor(() => expect(state.errors).toEqual([new Error("a bad file")]));
  writeFileSync(path("a.yaml"), "good");
  await vi.waitFor(() => expect(state.seen).toEqual({ "a.yaml": "good" }));
});
