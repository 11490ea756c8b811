import { fileURLToPath } from "node:url";
import { buildDocs } from "@heddle/tools/docs";
import { contentSecurityPolicy, docsDirectory } from "../src/index.js";

await buildDocs({
  spec: fileURLToPath(new URL("../../../spec/dist", import.meta.url)),
  docs: fileURLToPath(new URL("..", import.meta.url)),
  output: docsDirectory,
  policy: contentSecurityPolicy,
});
