import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isEntry } from "../entry.js";
import { readManifest } from "../packages/manifests.js";

const documents = ["tracing/openapi.yaml", "training/openapi.yaml"];
/** `info` is at the top of a document, and `version` the one key of this name directly below it. */
const infoVersion = /^(info:\n(?: .*\n)*? {2}version: )\S+$/m;

/** Versions in `info` of the documents. */
export function documentVersions(spec: string): string[] {
  return documents.map(
    (name) =>
      infoVersion
        .exec(readFileSync(join(spec, name), "utf8"))?.[0]
        .split(" ")
        .at(-1) ?? "",
  );
}

/** Writes the version of the package `@heddle/spec` into `info` of its documents, which state it. */
export function writeDocumentVersions(spec: string): void {
  const { version } = readManifest(spec);
  for (const name of documents) {
    const path = join(spec, name);
    writeFileSync(path, readFileSync(path, "utf8").replace(infoVersion, `$1${version}`));
  }
}

if (isEntry(import.meta.url)) writeDocumentVersions(resolve("spec"));
