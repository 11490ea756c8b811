import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readModel } from "@heddle/tools/model";
import { operationSamples } from "@heddle/tools/samples";
import { expect, onTestFinished, test } from "vitest";

const docs = join(import.meta.dirname, "..");
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");

/** The TypeScript samples of the references, as `<operationId>-<number>.ts`. */
function referenceSamples(): Record<string, string> {
  const models = ["tracing", "training"].map((name) => readModel(join(docs, `../../spec/dist/${name}.json`)));
  const programs = models.flatMap((model) =>
    model.operations.flatMap((operation) =>
      operationSamples(model, operation)
        .filter(({ language }) => language === "ts")
        .map(({ code }, index) => [`${operation.id}-${index + 1}.ts`, code] as const),
    ),
  );
  return Object.fromEntries(programs);
}

/** Paths of the guides, and of the first lines on the first page. */
const guides = readdirSync(join(docs, "guides"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => join(docs, "guides", name))
  .concat(join(docs, "template/first-lines.md"));

/** Every TypeScript block of the guides that is not a file of its own, as `<guide>-<number>.ts`. */
function guideSamples(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const guide of guides) {
    const text = readFileSync(guide, "utf8");
    const blocks = [...text.matchAll(/^```ts(?! file=).*\n([^]*?)^```$/gm)].map(([, code]) => code!);
    for (const [index, code] of blocks.entries()) found[`${basename(guide, ".md")}-${index + 1}.ts`] = code;
  }
  return found;
}

/** The compiler's findings about programs in one folder of the docs package, where imports resolve. */
function compile(programs: Record<string, string>): string {
  mkdirSync(join(docs, "dist"), { recursive: true });
  const directory = mkdtempSync(join(docs, "dist/samples-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, code] of Object.entries(programs)) writeFileSync(join(directory, name), code);
  const config = {
    extends: "../../../../tsconfig.base.json",
    compilerOptions: { noEmit: true, customConditions: ["@heddle/source"], declaration: false, declarationMap: false },
    include: ["*.ts"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config));
  return spawnSync(process.execPath, [tsc, "--pretty", "false"], { cwd: directory, encoding: "utf8" }).stdout;
}

test("every TypeScript sample of the guides and references compiles", () => {
  const [ofGuides, ofReferences] = [guideSamples(), referenceSamples()];
  expect(Object.keys(ofGuides).length).toBeGreaterThan(5);
  expect(Object.keys(ofReferences).length).toBeGreaterThan(100);
  expect(compile({ ...ofGuides, ...ofReferences })).toBe("");
}, 120_000);

test("a sample that does not fit the client is found", () => {
  const wrong = `import { createTracingClient } from "@heddle/client";
await createTracingClient({ baseUrl: "http://x" }).callRead({ project: "acme/demo" });
`;
  expect(compile({ "wrong.ts": wrong })).toContain("wrong.ts(2,");
}, 120_000);

test("a fence shows a file that exists", () => {
  const fences = guides.flatMap((guide) =>
    [...readFileSync(guide, "utf8").matchAll(/^```\w+ file=(\S+)$/gm)].map(([, file]) => join(dirname(guide), file!)),
  );
  expect(fences.length).toBeGreaterThan(0);
  for (const file of fences) expect(readFileSync(file, "utf8")).not.toBe("");
});
