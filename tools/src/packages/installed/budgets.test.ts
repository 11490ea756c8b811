import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import ts from "typescript";
import { describe, expect, inject, test } from "vitest";
import { parseModel } from "../../model/read-model.js";
import { readFileSync } from "node:fs";

const { project } = inject("installed");

/** Bytes after gzip of a program that uses the client, bundled and minified as an application would. */
async function bundledBytes(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: project },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).byteLength;
}

describe("a program that uses one operation carries at most 4 kB of client", () => {
  test.each(["tracing", "training"])("%s", async (name) => {
    const path = join(project, `node_modules/@heddle/spec/dist/${name}.json`);
    const { operations } = parseModel(JSON.parse(readFileSync(path, "utf8")), `${name}.json`);
    const connect = `connect${name === "tracing" ? "Tracing" : "Training"}`;
    const sizes = await Promise.all(
      operations.map(async ({ id }) => {
        const from = `@heddle/client/${name}`;
        return [id, await bundledBytes(`import { ${connect}, ${id} } from "${from}"; export const use = [${connect}, ${id}];`)] as const;
      }),
    );
    expect(sizes.length).toBeGreaterThan(30);
    expect(sizes.filter(([, size]) => size > 4_000)).toEqual([]);
  });
});

test("both clients together are at most 15 kB", async () => {
  expect(await bundledBytes('export * from "@heddle/client";')).toBeLessThanOrEqual(15_000);
});

/** What the compiler does for a program that imports the given entries: a number that is the same on every machine. */
function typeWork(program: string): { instantiations: number; types: number } {
  const file = join(project, "budget.mts");
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (path, ...rest) =>
    path === file ? ts.createSourceFile(path, program, ts.ScriptTarget.ES2023) : getSourceFile(path, ...rest);
  host.fileExists = (path) => path === file || fileExists(path);
  const compiled = ts.createProgram([file], options, host);
  expect(ts.getPreEmitDiagnostics(compiled).map(({ messageText }) => messageText)).toEqual([]);
  return { instantiations: compiled.getInstantiationCount(), types: compiled.getTypeCount() };
}

describe("type checking a program stays cheap", () => {
  test.each<[string, number, string]>([
    [
      "that uses both clients",
      0,
      `import { createTracingClient, createTrainingClient } from "@heddle/client";
const options = { baseUrl: "http://127.0.0.1:4680", apiKey: "key" };
const tracing = createTracingClient(options);
const training = createTrainingClient(options);
await tracing.callRead({ project_id: "acme/demo", id: "1" });
for await (const call of tracing.callsQueryStream({ project_id: "acme/demo" })) console.log(call.inputs);
await training.createChatCompletion({ messages: [{ role: "user", content: "Hello!" }] });
`,
    ],
    [
      "that implements one operation",
      0,
      `import { createTracingServer } from "@heddle/server-stub/tracing";
createTracingServer({ calls: { callRead: ({ body }) => { throw new Error(body.id); } } }, {});
`,
    ],
  ])("%s: at most %d instantiations of types", (_, budget, program) => {
    expect(typeWork(program).instantiations).toBeLessThanOrEqual(budget);
  });
});
