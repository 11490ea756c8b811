import { expect, test } from "vitest";
import { listen } from "../src/node/node.js";
import { createTracingServer } from "../src/tracing.js";

test("a body counts as what it becomes by being parsed, until its response", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let began = () => {};
  const first = new Promise<void>((resolve) => (began = resolve));
  const server = createTracingServer({
    refs: {
      async refsReadBatch() {
        began();
        await released;
        return { vals: [] };
      },
    },
  });
  const listening = await listen(server, { maxBodyBytesInFlight: 6_000_000 });
  const send = async (refs: number) => {
    const body = JSON.stringify({ refs: Array.from({ length: refs }, () => "") });
    const response = await fetch(`${listening.url}/refs/read_batch`, { method: "POST", body });
    return { status: response.status, text: await response.text() };
  };
  try {
    // 300 KB of text, 4 MB of values.
    const held = send(100_000);
    await first;
    expect(await send(100_000)).toEqual({ status: 503, text: expect.stringContaining("at most 6000000 bytes") });
    const small = send(1000);
    release();
    expect(await small).toMatchObject({ status: 200 });
    expect(await held).toMatchObject({ status: 200 });
    expect(await send(100_000)).toMatchObject({ status: 200 });
  } finally {
    await listening.close(0);
  }
});
