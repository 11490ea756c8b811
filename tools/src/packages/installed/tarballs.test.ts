import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, test } from "vitest";
import { readManifest } from "../manifests.js";

const { project, tarballs } = inject("installed");

// `require` of these ESM packages works on every Node version they support; only type checkers before 5.8 object.
const ignoredResolutions = new Set(["node10", "node16-cjs"]);

describe.each(Object.entries(tarballs))("%s", (name, tarball) => {
  const directory = join(project, "node_modules", name);
  const manifest = readManifest(directory);
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).trim().split("\n");

  test("has a README and the licence, and neither tests nor build leftovers", () => {
    expect(files).toEqual(expect.arrayContaining(["package/README.md", "package/LICENSE", "package/package.json"]));
    const unwanted =
      /\.test\.|\.test-d\.|__snapshots__|\/(?:test|tests|bench|fixtures|node_modules|\.turbo)\/|\.tsbuildinfo$/;
    expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  });

  test("depends on versions, never on the workspace or the catalog", () => {
    const ranges = Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(ranges.filter((range) => !/^[\^~]?\d+\.\d+\.\d+/.test(range))).toEqual([]);
  });

  test("exports nothing that only tests use", () => {
    expect(Object.keys(manifest.exports ?? {}).filter((subpath) => subpath.includes("test"))).toEqual([]);
  });

  test("publint has nothing to say", async () => {
    const bytes = readFileSync(tarball);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: data } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("attw finds its types right for ESM and bundlers", async () => {
    // A package without exports, such as a command, has no types to be wrong.
    if (manifest.exports === undefined) return;
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
    if (!result.types) throw new Error("the package has no types");
    const found = result.problems.filter(
      (problem) => !("resolutionKind" in problem && ignoredResolutions.has(problem.resolutionKind)),
    );
    expect(found).toEqual([]);
  });
});

test.each([
  ["@heddle/client", "dist/THIRD_PARTY_NOTICES.txt", ["openapi-fetch"]],
  ["@heddle/console", "dist/site/THIRD_PARTY_NOTICES.txt", ["react", "react-dom", "@fontsource/ibm-plex-mono"]],
])("%s has the licences of what it contains", (name, file, libraries) => {
  const notices = readFileSync(join(project, "node_modules", name, file), "utf8");
  for (const library of libraries) expect(notices).toMatch(new RegExp(`^${library} \\d+\\.\\d+\\.\\d+, \\S+$`, "m"));
});
