import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import ts from "typescript";
import { describe, expect, inject, test } from "vitest";
import { readModel } from "../../model/read-model.js";

const { project } = inject("installed");

/**
 * Bytes after gzip of a program that uses the client, bundled and minified as an application would. What it loads only when
 * that is asked for, as the reader of exact JSON, is not in it.
 */
async function bundledBytes(program: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: project },
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    write: false,
    outdir: "out",
    format: "esm",
    platform: "browser",
  });
  const loaded = new Set(["out/stdin.js"]);
  for (const path of loaded) {
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? []) {
      if (kind === "import-statement") loaded.add(next);
    }
  }
  const files = outputFiles.filter(({ path }) => [...loaded].some((name) => path.endsWith(name)));
  return gzipSync(Buffer.concat(files.map(({ contents }) => contents)), { level: 9 }).byteLength;
}

const maxOperationBytes = 4_200;

describe("a program that uses one operation carries at most 4.2 kB of the client", () => {
  test.each(["Tracing", "Training"])("%s", async (title) => {
    const name = title.toLowerCase();
    const { operations } = readModel(join(project, `node_modules/@heddle/spec/dist/${name}.json`));
    const tooLarge: string[] = [];
    for (const { id } of operations) {
      const names = `{ connect${title}, ${id} }`;
      const size = await bundledBytes(`import ${names} from "@heddle/client/${name}"; export const used = ${names};`);
      if (size > maxOperationBytes) tooLarge.push(`${id}: ${size} bytes`);
    }
    expect(operations.length).toBeGreaterThan(30);
    expect(tooLarge).toEqual([]);
  });
});

test("both clients together are at most 15 kB", async () => {
  expect(await bundledBytes('export * from "@heddle/client";')).toBeLessThanOrEqual(15_000);
});

interface TypeWork {
  /** Nodes of the syntax trees, which are read for every compilation. */
  nodes: number;
  types: number;
  instantiations: number;
}

/** What the compiler does for a program besides what it does for an empty one: the same on every machine. */
function typeWork(program: string): TypeWork {
  const [all, none] = [compile(program), compile("export {};\n")];
  return {
    nodes: all.getNodeCount() - none.getNodeCount(),
    types: all.getTypeCount() - none.getTypeCount(),
    instantiations: all.getInstantiationCount() - none.getInstantiationCount(),
  };
}

function compile(text: string): ts.Program {
  const file = join(project, "budget.mts");
  writeFileSync(file, text);
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const program = ts.createProgram([file], options);
  expect(ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText)).toEqual([]);
  return program;
}

const usesClients = `import { createTracingClient, createTrainingClient } from "@heddle/client";
const options = { baseUrl: "http://127.0.0.1:4680", apiKey: "key" };
const [tracing, training] = [createTracingClient(options), createTrainingClient(options)];
await tracing.callRead({ project_id: "acme/demo", id: "1" });
for await (const call of tracing.callsQueryStream({ project_id: "acme/demo", limit: 1 })) call.inputs;
await training.createChatCompletion({ messages: [{ role: "user", content: "Hello!" }] });
`;
const implementsOperation = `import { Problem } from "@heddle/server-stub";
import { createTracingServer } from "@heddle/server-stub/tracing";
createTracingServer({ calls: { callRead: ({ body }) => { throw new Problem(404, body.id); } } }, {});
`;

test.each([
  ["uses both clients", usesClients, { nodes: 90_000, types: 500, instantiations: 200 }],
  ["implements an operation", implementsOperation, { nodes: 90_000, types: 500, instantiations: 200 }],
])("type checking a program that %s stays cheap", (_, program, budget: TypeWork) => {
  const work = typeWork(program);
  const over = (Object.keys(budget) as (keyof TypeWork)[]).filter((name) => work[name] > budget[name]);
  expect(over.map((name) => `${name}: ${work[name]}`)).toEqual([]);
});
