import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

const site = mkdtempSync(join(tmpdir(), "heddle-console-"));
const assets = join(site, "assets");
let index = "";

beforeAll(() => {
  const cwd = join(import.meta.dirname, "..");
  const script = ["--import", "tsx", "-C", "@heddle/source", "scripts/build-site.ts", site];
  // React has another build for tests.
  execFileSync(process.execPath, script, { cwd, env: { ...process.env, NODE_ENV: "production" } });
  index = readFileSync(join(site, "index.html"), "utf8");
});
afterAll(() => rmSync(site, { recursive: true }));

const named = (pattern: RegExp) => readdirSync(assets).filter((name) => pattern.test(name));
const gzipped = (name: string) => gzipSync(readFileSync(join(assets, name)), { level: 9 }).byteLength;
const sum = (sizes: number[]) => sizes.reduce((a, b) => a + b, 0);

test("a first page loads at most 150 kB of scripts, each further screen 25 kB, and all together 250 kB", () => {
  const scripts = named(/\.js$/);
  const ofFirst = scripts.filter((name) => index.includes(name));
  const others = scripts.filter((name) => !index.includes(name)).map((name) => [name, gzipped(name)] as const);
  expect(sum(ofFirst.map(gzipped))).toBeLessThanOrEqual(150_000);
  expect(others.filter(([, size]) => size > 25_000)).toEqual([]);
  expect(sum(scripts.map(gzipped))).toBeLessThanOrEqual(250_000);
});

test("fonts are at most 80 kB", () => {
  expect(sum(named(/\.woff2$/).map((name) => statSync(join(assets, name)).size))).toBeLessThanOrEqual(80_000);
});

test("the page has nothing inline, and names nothing outside of its directory", () => {
  expect(index).not.toMatch(/<style|<script>|\son\w+=|\sstyle=/);
  for (const [, address = ""] of index.matchAll(/(?:href|src)="([^"]*)"/g))
    expect(address).toMatch(/^\.\/|^icon\.svg$/);
  for (const name of named(/\.css$/)) expect(readFileSync(join(assets, name), "utf8")).not.toMatch(/url\((?!\.\/|ibm)/);
});
