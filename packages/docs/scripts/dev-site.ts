// Builds the site again after each change of the bundled documents, guides, examples and templates: `pnpm dev`.
import { buildDocs, createCodeHighlighter } from "@heddle/tools/docs";
import { watchDirectories } from "@heddle/tools/watch-directories";
import { repository, siteOptions } from "./site-options.js";

const directories = [
  "spec/dist",
  "spec/examples",
  "spec/stories",
  ".changeset",
  ...["guides", "examples", "template", "browser"].map((name) => `packages/docs/${name}`),
  "packages/client/examples",
  "packages/server-stub/examples",
];
// It remembers the blocks of code that have not changed.
const highlighter = await createCodeHighlighter();

async function run(): Promise<void> {
  const started = performance.now();
  await buildDocs({ ...siteOptions, highlighter });
  console.log(`documentation built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

await watchDirectories(
  directories.map((directory) => repository + directory),
  run,
  console.error,
  // Both documents are written after each change of the spec, and types with them.
  { ignored: /\.d\.ts$/, settleMs: 800 },
);
