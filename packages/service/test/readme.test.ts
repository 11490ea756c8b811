import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const packageFolder = join(import.meta.dirname, "..");
const sources = join(packageFolder, "src");
const folders = readdirSync(sources, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);

/** In the order of the table. */
const listed = readFileSync(join(packageFolder, "README.md"), "utf8")
  .split("\n")
  .flatMap((line) => [...(/^\| ((?:`[a-z-]+`,? ?)+)\|/.exec(line)?.[1]?.matchAll(/`([a-z-]+)`/g) ?? [])])
  .map(([, name = ""]) => name);

test("the README has every folder of the sources", () => {
  expect(listed.toSorted()).toEqual(folders.toSorted());
});

test("a folder imports only from folders that are further down in the README", () => {
  const upwards = folders.flatMap((folder) =>
    importsOf(folder)
      .filter(([, imported]) => listed.indexOf(imported) < listed.indexOf(folder))
      .map(([file, imported]) => `${file} imports ${imported}`),
  );
  expect(upwards).toEqual([]);
});

/** The other folders that the files of a folder import, each with the file that does. */
function importsOf(folder: string): Array<[file: string, imported: string]> {
  const files = readdirSync(join(sources, folder), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const path = join(sources, folder, file);
      const imports = readFileSync(path, "utf8").matchAll(/ from "(\.[^"]+)"/g);
      return Array.from(imports, ([, specifier = ""]): [string, string] => {
        const [imported = ""] = relative(sources, resolve(path, "..", specifier)).split("/");
        return [`${folder}/${file}`, imported];
      });
    })
    .filter(([, imported]) => imported !== folder && folders.includes(imported));
}
