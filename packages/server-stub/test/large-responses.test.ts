/* oxlint-disable unicorn/consistent-function-scoping -- a handler reads best inside the test that it serves */
import { describe, expect, test } from "vitest";
import { rawJson } from "../src/json/raw-json.js";
import { drivers } from "./drivers.js";
import { libraryServer } from "./library.js";

const book = { id: "b1", title: "T", notes: rawJson("{}"), added_at: "2026-04-10" };
const post = { method: "POST", body: '{"id":"b1","title":"T","notes":{}}' };

describe.each(Object.entries(drivers))("over the %s adapter", (_, drive) => {
  test("one text that a response holds many times takes its memory once", async () => {
    const text = `"${"x".repeat(4_000_000)}"`;
    const notes = Array.from({ length: 40 }, () => rawJson(text));
    const server = libraryServer({ bookCreate: () => ({ ...book, notes }) }, { maxResponseLength: 1e9 });
    await drive(server, async (send) => {
      const before = process.memoryUsage();
      const response = await send("/books", post);
      let size = 0;
      let most = 0;
      const reader = response.body?.getReader();
      for (let part = await reader?.read(); !part?.done; part = await reader?.read()) {
        size += part?.value.length ?? 0;
        most = Math.max(most, process.memoryUsage().heapUsed - before.heapUsed);
      }
      expect(size).toBeGreaterThan(160_000_000);
      expect(most).toBeLessThan(80_000_000);
    });
  });

  test("a response over the limit is 413 before anything of it is sent", async () => {
    const notes = rawJson(`"${"x".repeat(200_000)}"`);
    const errors: unknown[] = [];
    const server = libraryServer(
      { bookCreate: () => ({ ...book, notes, extra: notes }) },
      { maxResponseLength: 300_000, onError: (error) => void errors.push(error) },
    );
    await drive(server, async (send) => {
      const response = await send("/books", post);
      expect([response.status, await response.json()]).toEqual([
        413,
        { reason: expect.stringContaining("more than 300000 characters") },
      ]);
      expect(errors).toEqual([expect.objectContaining({ name: "ResponseTooLarge", maxLength: 300_000 })]);
    });
  });

  test("a long response arrives as it was written, wherever it is cut", async () => {
    const title = "a\u{1f600}".repeat(40_000);
    const notes = rawJson(`"${"\u{1f600}".repeat(100_000)}"`);
    await drive(libraryServer({ bookCreate: () => ({ ...book, title, notes }) }), async (send) => {
      const text = await (await send("/books", post)).text();
      expect(text).toBe(`{"id":"b1","title":"${title}","notes":${notes.text},"added_at":"2026-04-10"}`);
    });
  });
});
