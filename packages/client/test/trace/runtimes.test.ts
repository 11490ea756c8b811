import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "@heddle/tools/free-port";
import { runtimes } from "@heddle/tools/runtimes";
import type { Program, Runtime } from "@heddle/tools/runtimes";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { startTraceServer } from "./trace-server.js";

const nested = `
  const inner = trace("inner", async (n) => { await new Promise((resolve) => setTimeout(resolve, 5)); return n + 1; });
  const outer = trace("outer", async (n) => { await null; return inner(await inner(n)); });
`;

/** A program as one file, and the process that runs it. */
async function start(runtime: Runtime, program: string, options: Pick<Program, "nodejs"> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-runtime-"));
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["@heddle/source"],
  });
  const path = join(directory, "program.mjs");
  const code = outputFiles[0]?.text ?? "";
  const port = await freePort();
  const { command, args, input, files } = runtimes[runtime]({ code, path, port, ...options });
  for (const [name, text] of Object.entries({ [path]: code, ...files })) writeFileSync(name, text);
  const env = { ...process.env, DENO_DIR: join(directory, "deno"), DENO_NO_UPDATE_CHECK: "1" };
  const child = spawn(command, args, { cwd: directory, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end(input);
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
    rmSync(directory, { recursive: true, force: true });
  });
  return { child, output: () => output, url: `http://127.0.0.1:${port}` };
}

test.each(["node", "bun", "deno"] as const)(
  "a program on %s records its calls as a tree, and sends them before it ends",
  { timeout: 60_000 },
  async (runtime) => {
    const { baseUrl, all, named } = await startTraceServer();
    const program = `import { init, trace } from "@heddle/client/trace";
      init({ baseUrl: "${baseUrl}", apiKey: "k", project: "acme/runtime" }); ${nested}
      console.log(await outer(1));`;
    const { child, output } = await start(runtime, program);
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, output: output() }).toEqual({ code: 0, output: "3\n" });
    expect(all().map(({ op_name, output: result }) => [op_name, result])).toEqual([
      ["outer", 3],
      ["inner", 2],
      ["inner", 3],
    ]);
    for (const { parent_id, op_name } of all()) if (op_name === "inner") expect(parent_id).toBe(named("outer").id);
  },
);

test.each([
  { nodejs: true, says: "as a tree" },
  { nodejs: false, says: "each by itself where it waits, without nodejs_compat" },
])("a Worker records its calls, $says", { timeout: 60_000 }, async ({ nodejs }) => {
  const { baseUrl, all, named } = await startTraceServer();
  const program = `import { flush, init, trace } from "@heddle/client/trace";
    init({ baseUrl: "${baseUrl}", apiKey: "k", project: "acme/runtime" }); ${nested}
    export default { async fetch() { const result = await outer(1); return new Response(result + " " + await flush()); } };`;
  const { child, output, url } = await start("workerd", program, { nodejs });
  let text: string | undefined;
  while (text === undefined && child.exitCode === null) {
    text = await fetch(url).then(
      async (response) => response.text(),
      async () => delay(50, undefined),
    );
  }
  expect({ text, output: output() }).toEqual({ text: "3 true", output: "" });
  expect(all().map(({ op_name, output: result }) => [op_name, result])).toEqual([
    ["outer", 3],
    ["inner", 2],
    ["inner", 3],
  ]);
  const parents = all().flatMap(({ op_name, parent_id }) => (op_name === "inner" ? [parent_id] : []));
  expect(parents).toEqual(nodejs ? [named("outer").id, named("outer").id] : [undefined, undefined]);
});
