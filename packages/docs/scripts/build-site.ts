import { fileURLToPath } from "node:url";
import { buildDocs } from "@heddle/tools/docs";
import { contentSecurityPolicy, docsDirectory } from "../src/index.js";

const directory = (path: string) => fileURLToPath(new URL(path, import.meta.url));

await buildDocs({
  spec: directory("../../../spec/dist"),
  contract: directory("../../../spec"),
  docs: directory(".."),
  output: docsDirectory,
  policy: contentSecurityPolicy,
});
