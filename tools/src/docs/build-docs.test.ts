import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildDocs } from "./build-docs.js";
import { readModel } from "../model/read-model.js";

const repository = join(import.meta.dirname, "../../..");
const spec = join(repository, "spec/dist");
const output = mkdtempSync(join(tmpdir(), "heddle-docs-"));
let pages: string[] = [];

beforeAll(async () => {
  await buildDocs({ spec, docs: join(repository, "packages/docs"), output });
  pages = readdirSync(output, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
}, 180_000);

afterAll(() => rmSync(output, { recursive: true }));

function read(name: string): string {
  return readFileSync(join(output, name), "utf8");
}

describe("the documentation site", () => {
  test("has a landing page, both references, the guides and a changelog", () => {
    expect(pages).toEqual(expect.arrayContaining(["index.html", "tracing.html", "training.html", "changelog.html"]));
    expect(pages).toContain(join("guides", "getting-started.html"));
    expect(read("index.html")).toContain("npx -y pnpm@10.34.9 start");
  });

  test("loads nothing from other hosts: each page forbids it and names no external resource", () => {
    for (const page of pages) {
      const text = read(page);
      expect(text, page).toMatch(/http-equiv="Content-Security-Policy"\s+content="default-src 'none';/);
      expect(text, page).not.toMatch(
        /<(?:script|img|iframe|link|source|video)\b[^>]*(?:src|href)=["']?(?:https?:)?\/\//i,
      );
      expect(text, page).not.toMatch(/url\(["']?https?:/i);
      expect(text, page).not.toContain("cdn.redoc.ly");
    }
  });

  test("does not track its readers", () => {
    expect(read("tracing.html")).toContain('"disableTelemetry":true');
    expect(read("training.html")).toContain('"disableTelemetry":true');
  });

  test("has no broken link between its own files", () => {
    for (const page of pages.filter((name) => !/^tra(c|in)ing\.html$/.test(name))) {
      for (const [, href] of read(page).matchAll(/href="([^"]*)"/g)) {
        if (/^[a-z]+:/.test(href!)) continue;
        const [file, anchor] = href!.split("#");
        const target = file === "" ? page : join(dirname(page), file!);
        const text = read(target);
        if (anchor) expect(text, `${page} → ${href}`).toContain(`id="${anchor}"`);
      }
    }
  });

  test("offers both documents for download, and every operation to programs that read", () => {
    for (const name of ["tracing", "training"]) {
      expect(read(`openapi/${name}.json`)).toBe(readFileSync(join(spec, `${name}.json`), "utf8"));
      expect(read(`openapi/${name}.yaml`)).toMatch(/^openapi: 3\.1/);
      for (const { id } of readModel(join(spec, `${name}.json`)).operations) {
        expect(read("llms.txt")).toContain(`\`${id}\``);
      }
    }
  });

  test("names every setting of the service, with its default", () => {
    const config = readFileSync(join(repository, "packages/service/src/config.ts"), "utf8");
    const settings = [...config.matchAll(/^ {2}((?:HEDDLE|OTEL)_\w+): \{\s*default: "([^"]*)"/gm)];
    expect(settings.length).toBeGreaterThan(5);
    const guide = readFileSync(join(repository, "packages/docs/guides/operating.md"), "utf8").replaceAll("`", "");
    for (const [, name, value] of settings) expect(guide).toContain(`| ${name} | ${value} |`);
  });
});
