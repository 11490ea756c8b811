import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:net";
import type { HttpServer } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import { expect, test } from "vitest";
import { drainable } from "./draining.js";

const ok = { status: 200, headers: {}, body: "done" };

/** Sends a request, stops the service while it is handled, and returns the response. */
async function stoppedWhile(server: HttpServer, request: string, graceMs: number): Promise<string> {
  let asked = () => {};
  const begun = new Promise<void>((resolve) => (asked = resolve));
  const app = drainable((incoming) => {
    asked();
    return server(incoming);
  });
  const listening = await listen(app.server);
  const socket = connect(listening.port, "127.0.0.1").setEncoding("latin1");
  let response = "";
  socket.on("data", (chunk: string) => (response += chunk)).on("error", () => undefined);
  socket.write(request);
  await begun;
  await app.drain(graceMs);
  await listening.close(50);
  socket.destroy();
  return response;
}

test("a request that is being handled when the service stops gets its response", async () => {
  const slow: HttpServer = async () => await delay(50, ok);
  expect(await stoppedWhile(slow, "GET / HTTP/1.1\r\nhost: a\r\n\r\n", 10_000)).toMatch(/^HTTP\/1\.1 200 [^]*done$/);
});

test("a request that cannot be handled in time gets 503, also in the middle of its body", async () => {
  const reading: HttpServer = async (request) => {
    await request.bytes(1000);
    return ok;
  };
  const half = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{";
  expect(await stoppedWhile(reading, half, 20)).toMatch(/^HTTP\/1\.1 503 [^]*The service is stopping/);
});
