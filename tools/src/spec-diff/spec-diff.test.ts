import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBase } from "./base.js";
import { judge, specDiff } from "./spec-diff.js";
import type { AskedBumps } from "./spec-diff.js";
import type { Bump } from "../changesets.js";
import type { Change } from "./rating.js";

const removal: Change = { impact: "major", rule: "operation-removed", location: "GET /a", sentence: "It is removed." };
const more: Change = { impact: "minor", location: "GET /b", sentence: "added" };
const words: Change = { impact: "patch", location: "GET /c", sentence: "summary modified" };

test("a breaking change needs a changeset of its own that says major for the contract", () => {
  const enough = (asked: AskedBumps) => judge("x", [words, removal], asked).enough;
  expect(enough({ pending: "major", ofContract: "minor" })).toBe(false);
  expect(enough({ pending: "minor", ofContract: undefined })).toBe(false);
  expect(enough({ pending: "major", ofContract: "major" })).toBe(true);
});

test("an addition needs a minor bump of the contract or of what has its version", () => {
  const enough = (pending: Bump | undefined) => judge("x", [words, more], { pending, ofContract: undefined }).enough;
  expect(["patch", "minor", "major"].map((bump) => enough(bump as Bump))).toEqual([false, true, true]);
  expect(enough(undefined)).toBe(false);
});

test("the report lists what breaks first, counts descriptions, and ends with the next step", () => {
  const asked: AskedBumps = { pending: "minor", ofContract: "patch" };
  expect(judge("release @heddle/spec@1.0.0", [words, more, removal, words], asked).text).toBe(
    `The contract against release @heddle/spec@1.0.0:
  major  GET /a: It is removed.
  minor  GET /b: added
  patch  2 changes of descriptions and examples
It needs a changeset that says major for @heddle/spec; those since then say patch.
Run \`npx -y pnpm@10.34.9 changeset\`, choose @heddle/spec and major, and describe what users will notice.`,
  );
});

test("an unchanged contract needs nothing", () => {
  expect(judge("x", [], { pending: undefined, ofContract: undefined })).toEqual({
    enough: true,
    text: "The contract against x:\nnothing changed.",
  });
});

test("without an earlier contract there is nothing to compare", async () => {
  const { repository } = await repositoryOf("fresh");
  const { enough, text } = await specDiff(repository);
  expect(enough).toBe(true);
  expect(text).toContain("no earlier contract");
});

test("the base is the last release, else where the branch left main, else the commit before", async () => {
  const { repository, git, commit } = await repositoryOf("base");
  expect(findBase(repository)).toBeUndefined();
  const first = git("rev-parse", "HEAD");
  commit("two");
  expect(findBase(repository)).toEqual({ commit: git("rev-parse", "HEAD^"), name: "the commit before" });
  git("checkout", "-q", "-b", "topic");
  const left = git("rev-parse", "HEAD");
  commit("three");
  commit("four");
  expect(findBase(repository)).toEqual({ commit: left, name: "where this branch left main" });
  git("tag", "@heddle/spec@0.1.0", first);
  expect(findBase(repository)).toEqual({ commit: "@heddle/spec@0.1.0", name: "release @heddle/spec@0.1.0" });
});

test("a change of the working tree is compared with the pending changesets", async () => {
  const { repository, git, write } = await repositoryOf("gate");
  git("tag", "@heddle/spec@0.1.0");
  write("spec/tracing/openapi.yaml", document("/health", "/version"));
  const refused = await specDiff(repository);
  expect(refused.text).toContain("minor  /version: added");
  expect(refused.enough).toBe(false);
  write(".changeset/new.md", '---\n"@heddle/client": minor\n---\n\nAsk for the version.\n');
  expect((await specDiff(repository)).enough).toBe(true);
}, 180_000);

test("on main a pending changeset does not hide a breaking change", async () => {
  const { repository, write, commit } = await repositoryOf("main");
  write(".changeset/earlier.md", '---\n"@heddle/spec": major\n---\n\nAn earlier change.\n');
  commit("earlier");
  commit("unrelated");
  write("spec/tracing/openapi.yaml", document("/version"));
  const hidden = await specDiff(repository);
  expect(hidden.text).toContain("major  /health");
  expect(hidden.text).toContain("those since then do not name it");
  expect(hidden.enough).toBe(false);
  write(".changeset/other.md", '---\n"@heddle/client": major\n---\n\nOf another package.\n');
  expect((await specDiff(repository)).enough).toBe(false);
  write(".changeset/own.md", '---\n"@heddle/spec": major\n---\n\nHealth is gone.\n');
  expect((await specDiff(repository)).enough).toBe(true);
}, 180_000);

/** A repository with one interface of one operation, committed on main. */
async function repositoryOf(name: string) {
  const repository = mkdtempSync(join(tmpdir(), `heddle-${name}-`));
  const git = (...args: string[]) => {
    const config = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...config, ...args], { cwd: repository, encoding: "utf8" }).trim();
  };
  const write = (path: string, text: string) => {
    mkdirSync(join(repository, path, ".."), { recursive: true });
    writeFileSync(join(repository, path), text);
  };
  const commit = (note: string) => {
    write("notes.txt", note);
    git("add", ".");
    git("commit", "-q", "-m", note);
  };
  write(".changeset/config.json", '{ "fixed": [["@heddle/spec", "@heddle/client"]] }');
  write("spec/package.json", '{ "version": "0.1.0" }');
  write("spec/redocly.yaml", "apis:\n  tracing:\n    root: ./tracing/openapi.yaml\n    output: ./dist/tracing.json\n");
  write("spec/tracing/openapi.yaml", document("/health"));
  git("init", "-q", "-b", "main");
  commit("one");
  return { repository, git, write, commit };
}

function document(...paths: string[]): string {
  return `openapi: 3.1.0\ninfo: { title: T, version: 0.1.0 }\nsecurity: []\npaths:\n${paths.map(pathItem).join("")}`;
}

function pathItem(path: string): string {
  const responses = 'responses:\n        "200": { description: Fine. }';
  return `  ${path}:\n    get:\n      operationId: read${path.slice(1)}\n      ${responses}\n`;
}
