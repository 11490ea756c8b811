import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { writeSite } from "./write-site.js";

test("files are written with compressed copies, once, and what no longer belongs to the site is removed", async () => {
  const output = mkdtempSync(join(tmpdir(), "heddle-write-site-"));
  onTestFinished(() => rmSync(output, { recursive: true }));
  const path = (name: string) => join(output, name);
  const long = "text ".repeat(1000);
  await writeSite(output, { "a/page.html": long, "short.txt": "short", "old.html": long });
  expect(brotliDecompressSync(readFileSync(path("a/page.html.br"))).toString()).toBe(long);
  expect(gunzipSync(readFileSync(path("a/page.html.gz"))).toString()).toBe(long);
  expect(existsSync(path("short.txt.gz"))).toBe(false);

  for (const name of ["a/page.html", "a/page.html.br", "a/page.html.gz"]) utimesSync(path(name), 1, 1);
  await writeSite(output, { "a/page.html": long, "short.txt": "shorter" });
  for (const name of ["a/page.html", "a/page.html.br", "a/page.html.gz"])
    expect(statSync(path(name)).mtimeMs).toBe(1000);
  for (const name of ["old.html", "old.html.br", "old.html.gz"]) expect(existsSync(path(name))).toBe(false);
  expect(readFileSync(path("short.txt"), "utf8")).toBe("shorter");

  await writeSite(output, { "a/page.html": `${long}!` });
  expect(gunzipSync(readFileSync(path("a/page.html.gz"))).toString()).toBe(`${long}!`);
});
