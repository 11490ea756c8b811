import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publicPackages, readManifest } from "../packages/manifests.js";
import { documentVersions } from "./document-version.js";

const repository = join(import.meta.dirname, "../../..");

test("the documents state the version of the package that they are published in", () => {
  const { version } = readManifest(join(repository, "spec"));
  expect(documentVersions(join(repository, "spec"))).toEqual([version, version]);
});

test("packages of the contract and the service have one version", () => {
  const config = JSON.parse(readFileSync(join(repository, ".changeset/config.json"), "utf8")) as { fixed: string[][] };
  const versions = publicPackages(repository)
    .filter(({ manifest }) => config.fixed.flat().includes(manifest.name))
    .map(({ manifest }) => manifest.version);
  expect(versions).toHaveLength(config.fixed.flat().length);
  expect(new Set(versions).size).toBe(1);
});
