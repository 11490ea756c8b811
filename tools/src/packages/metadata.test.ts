import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { publicPackages, readManifest } from "./manifests.js";
import { sharedMetadata, unpublishable } from "./metadata.js";

const repository = join(import.meta.dirname, "../../..");
const root = readManifest(repository);
const packages = publicPackages(repository);

describe.each(packages.map((found) => [found.manifest.name, found] as const))("%s", (_, found) => {
  const { directory, manifest } = found;

  test("states the repository, licence, engines and terms of publishing of the root package.json", () => {
    // To correct a difference: pnpm metadata && pnpm format
    expect(manifest).toMatchObject(sharedMetadata(root, found));
  });

  test("can be found: a description and keywords", () => {
    expect(manifest.description).toMatch(/^[A-Z\d].{20,}[^.]$/i);
    expect(manifest.keywords).toContain("heddle");
    expect(new Set(manifest.keywords).size).toBeGreaterThanOrEqual(4);
  });

  test("has a README that begins with its name, a sentence and an example", () => {
    const path = join(repository, directory, "README.md");
    expect(existsSync(path)).toBe(true);
    const [title, ...rest] = readFileSync(path, "utf8").split("\n");
    expect(title).toBe(`# ${manifest.name}`);
    expect(rest.join("\n")).toMatch(/^\n\S[^]*?^```(?:ts|sh)[^\n]*\n/m);
  });
});

test("whatever a public package needs at run time is public", () => {
  const published = new Set(packages.map(({ manifest }) => manifest.name));
  const needed = packages.flatMap(({ manifest }) =>
    Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter((name) =>
      name.startsWith("@heddle/"),
    ),
  );
  expect(needed.length).toBeGreaterThan(0);
  expect(needed.filter((name) => !published.has(name))).toEqual([]);
});

test("nothing is published under an address that is reserved for examples", () => {
  const at = (url: string) => unpublishable({ name: "x", version: "0", repository: { type: "git", url } });
  expect(at("git+https://git.example.org/x/x.git")).toContain("Set repository");
  expect(at("git+https://github.com/someone/example.git")).toBeUndefined();
  expect(JSON.stringify(root["scripts"])).toContain("--publishable");
});
