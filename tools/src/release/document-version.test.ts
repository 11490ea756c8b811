import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documentVersions } from "./document-version.js";

const repository = join(import.meta.dirname, "../../..");

test("the documents state the version of the package that they are published in", () => {
  const { version } = JSON.parse(readFileSync(join(repository, "spec/package.json"), "utf8")) as { version: string };
  expect(documentVersions(join(repository, "spec"))).toEqual([version, version]);
});

test("packages of the contract and the service have one version", () => {
  const config = JSON.parse(readFileSync(join(repository, ".changeset/config.json"), "utf8")) as { fixed: string[][] };
  const folders: Record<string, string> = { "@heddle/spec": "spec" };
  const versions = config.fixed.flat().map((name) => {
    const folder = folders[name] ?? join("packages", name.replace("@heddle/", ""));
    return (JSON.parse(readFileSync(join(repository, folder, "package.json"), "utf8")) as { version: string }).version;
  });
  expect(new Set(versions).size).toBe(1);
});
