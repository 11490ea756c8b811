import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeFiles } from "../src/generated-files.js";
import { generators, goldenDirectory, goldenModel } from "./golden-trees.js";

for (const [name, generate] of Object.entries(generators)) {
  const directory = join(goldenDirectory, name);
  const files = await generate(goldenModel());
  rmSync(directory, { recursive: true, force: true });
  writeFiles(directory, files);
}
