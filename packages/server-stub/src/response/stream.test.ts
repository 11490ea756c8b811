import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { HttpRequest, Sink } from "../http.js";
import { openStream } from "./stream.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("what was sent of a stream is not kept until its end", async () => {
  const sent: WeakRef<Uint8Array>[] = [];
  let kept: number | undefined;
  async function* pieces() {
    for (let i = 0; i < 100; i++) {
      const piece = new Uint8Array(1000);
      sent.push(new WeakRef(piece));
      yield piece;
      await setImmediate();
    }
    collectGarbage();
    kept = sent.filter((piece) => piece.deref() !== undefined).length;
  }
  const encoder = { encode: (item: unknown) => item as Uint8Array, eager: false };
  const body = await openStream(pieces(), encoder, { signal: new AbortController().signal } as HttpRequest);
  const sink: Sink = { closed: false, write: () => undefined, onClose: () => {} };
  await body(sink);
  expect(kept).toBeLessThan(10);
});
