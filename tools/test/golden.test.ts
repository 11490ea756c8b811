import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generators, goldenDirectory, goldenModel } from "./golden-trees.js";

const fix = "If the change is wanted: npx -y pnpm@10.34.9 --filter @heddle/tools golden";

describe.each(Object.entries(generators))("%s makes of the small document", async (name, generate) => {
  const directory = join(goldenDirectory, name);
  const files = await generate(goldenModel());

  test("exactly these files", () => {
    const kept = existsSync(directory) ? readdirSync(directory, { recursive: true, withFileTypes: true }) : [];
    const paths = kept.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    expect(
      Object.keys(files)
        .map((file) => join(directory, file))
        .toSorted(),
      fix,
    ).toEqual(paths.toSorted());
  });

  test.each(Object.keys(files))("%s", (file) => {
    const path = join(directory, file);
    expect(files[file], fix).toBe(existsSync(path) ? readFileSync(path, "utf8") : undefined);
  });
});
