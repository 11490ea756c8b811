import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { rawJson } from "@heddle/server-stub";
import { toNodeListener } from "@heddle/server-stub/node";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** As Debian installs it; elsewhere the test is left out. */
const chromium = "/usr/bin/chromium";

const inputs = '{"big":107505301260286111,"one":1.0}';
const call = {
  project_id: "acme/demo",
  op_name: "o",
  trace_id: "t",
  started_at: "2026-01-01T00:00:00Z",
  attributes: rawJson("{}"),
  inputs: rawJson(inputs),
};
const tracing = createTracingServer({
  calls: {
    callRead: () => ({ call: { ...call, id: "c" } }),
    async *callsQueryStream() {
      for (const id of ["c", "d"]) yield { ...call, id };
    },
  },
});

/** What a page does with the client. */
const program = `
  import { createTracingClient } from "@heddle/client/tracing";
  const tracing = createTracingClient({ baseUrl: location.origin, retries: 0 });
  const input = { project_id: "acme/demo", id: "c" };
  const raw = { raw: true };
  try {
    const seen = [(await tracing.callRead(input, raw)).call.inputs.text, (await tracing.callRead(input)).call.inputs.one];
    for await (const item of tracing.callsQueryStream({ project_id: "acme/demo" }, raw)) seen.push(item.id + item.inputs.text);
    await fetch("/seen", { method: "PUT", body: JSON.stringify(seen) });
  } catch (error) {
    await fetch("/seen", { method: "PUT", body: JSON.stringify(String(error)) });
  }
`;

test.skipIf(!existsSync(chromium))("a page in a browser reads exact JSON, loaded when it is asked for", async () => {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    splitting: true,
    outdir: "out",
    write: false,
    format: "esm",
    platform: "browser",
    conditions: ["@heddle/source"],
  });
  const files = new Map(outputFiles.map(({ path, text }) => [`/${basename(path)}`, text]));
  expect(files.size).toBeGreaterThan(1);
  const profile = mkdtempSync(join(tmpdir(), "heddle-browser-"));
  const operations = toNodeListener(tracing);
  let report: (seen: unknown) => void = () => undefined;
  const seen = new Promise<unknown>((resolve) => (report = resolve));
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    const file = files.get(url);
    if (url === "/") response.end('<script type="module" src="/stdin.js"></script>');
    else if (file !== undefined) response.writeHead(200, { "content-type": "text/javascript" }).end(file);
    else if (method === "PUT") {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += String(chunk)));
      request.on("end", () => report(JSON.parse(body)));
      response.end();
    } else operations(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const options = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    `--user-data-dir=${profile}`,
    "--remote-debugging-port=0",
  ];
  const browser = spawn(chromium, [...options, `http://127.0.0.1:${port}/`], { stdio: "ignore" });
  const gone = new Promise((resolve) => browser.once("exit", resolve));
  try {
    expect(await seen).toEqual([inputs, 1, `c${inputs}`, `d${inputs}`]);
  } finally {
    browser.kill("SIGKILL");
    await gone;
    server.closeAllConnections();
    server.close();
    // Its processes may write a little longer than the one that was ended; rmSync would not list the folder again.
    await rm(profile, { recursive: true, force: true, maxRetries: 20 });
  }
});
