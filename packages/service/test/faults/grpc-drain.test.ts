import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/config.js";
import { startService } from "../../src/boot/start.js";
import { call, framed, openSession } from "../grpc-call.js";

test("a service that stops finishes the calls it has, tells further ones when to come again, and closes connections", async () => {
  const data = mkdtempSync(join(tmpdir(), "heddle-grpc-drain-"));
  const settings = { HEDDLE_PORT: "0", HEDDLE_OTLP_GRPC_PORT: "0", HEDDLE_DATA_DIR: data };
  const service = await startService(readConfig(settings), { writeLog: () => {} });
  const session = openSession(service.otlpGrpcUrl ?? "");
  const headers = { authorization: `Bearer ${service.apiKey}`, project_id: "acme/demo" };
  expect(await call(session, framed(new Uint8Array()), { headers })).toMatchObject({ code: 0 });
  const closed = new Promise((resolve) => session.once("close", resolve));
  const accepted = session.request({
    ":method": "POST",
    ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "content-type": "application/grpc",
    ...headers,
  });
  const status = new Promise((resolve) => accepted.once("trailers", (trailers) => resolve(trailers["grpc-status"])));
  accepted.resume();
  accepted.write(framed(new Uint8Array()).subarray(0, 2));
  await delay(100);
  const stopped = service.close();
  await delay(50);
  const refused = await call(session, framed(new Uint8Array()), { headers });
  expect(refused).toMatchObject({ code: 14, message: "The service is stopping" });
  expect(refused.details).toContain("google.rpc.RetryInfo");
  accepted.end(framed(new Uint8Array()).subarray(2));
  expect(await status).toBe("0");
  await Promise.all([stopped, closed]);
  rmSync(data, { recursive: true, force: true });
});
