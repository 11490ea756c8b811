import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTracingClient } from "@heddle/client/tracing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readConfig } from "../../src/config/config.js";
import { startService } from "../../src/boot/start.js";
import type { Running } from "../../src/boot/start.js";
import { freePort } from "@heddle/tools/free-port";

const ownerKey = "o".repeat(40);
const directory = mkdtempSync(join(tmpdir(), "heddle-self-export-"));
const lines: string[] = [];
let service: Running;
beforeAll(async () => {
  vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "50");
  const port = await freePort();
  const config = readConfig({
    HEDDLE_DATA_DIR: directory,
    HEDDLE_PORT: String(port),
    HEDDLE_OTLP_GRPC_PORT: "off",
    HEDDLE_API_KEY: ownerKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/otel`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${ownerKey},project_id=local%2Fheddle`,
  });
  service = await startService(config, { writeLog: (line) => lines.push(line) });
});
afterAll(async () => {
  await service.close();
  rmSync(directory, { recursive: true, force: true });
});

test("a service that sends its traces to itself has readable calls of them, and none of the exports", async () => {
  const tracing = createTracingClient({ baseUrl: service.url, apiKey: ownerKey });
  for (let n = 0; n < 5; n++) await fetch(`${service.url}/version`);
  const spans = async () => {
    // What reads the calls is not traced itself, so that their number can settle.
    const headers = { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-00` };
    const names: string[] = [];
    for await (const { display_name } of tracing.callsQueryStream({ project_id: "local/heddle" }, { headers })) {
      names.push(display_name ?? "");
    }
    return names;
  };
  const arrived = (count: number) =>
    vi.waitFor(async () => expect((await spans()).filter((name) => name === "GET /version")).toHaveLength(count), {
      timeout: 10_000,
      interval: 50,
    });
  await arrived(5);
  // Spans arrive in the order in which they end: one of the export of the first five would come before the sixth.
  await fetch(`${service.url}/version`);
  await arrived(6);
  expect(await spans()).toEqual(Array.from({ length: 6 }, () => "GET /version"));
  expect(lines.filter((line) => line.includes("cannot be exported"))).toEqual([]);
});
