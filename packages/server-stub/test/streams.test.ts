/* oxlint-disable unicorn/consistent-function-scoping -- a handler reads best inside the test that it serves */
import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { Problem } from "../src/problem.js";
import { rawJson } from "../src/json/raw-json.js";
import { SharedItems } from "../src/response/shared-items.js";
import { drivers } from "./drivers.js";
import { libraryServer } from "./library.js";
import type { Handler } from "./library.js";

const row = (id: string) => ({ id, title: "T", notes: rawJson("{}"), added_at: "2026-04-10" });
const line = (id: string) => `{"id":"${id}","title":"T","notes":{},"added_at":"2026-04-10"}\n`;
const post = { method: "POST" };
const ask = { method: "POST", body: '{"question":"?"}' };

describe.each(Object.entries(drivers))("over the %s adapter", (_, drive) => {
  const stream = (handler: Handler) =>
    libraryServer({ booksStream: handler, bookAsk: handler }, { validateResponses: true });

  test("rows arrive as JSON lines, their free JSON as it is", async () => {
    async function* rows() {
      yield row("a");
      yield { ...row("b"), extra: rawJson('{"n": 1.0, "n": 2}') };
    }
    await drive(stream(rows), async (send) => {
      const response = await send("/books/stream", post);
      expect(response.headers.get("content-type")).toBe("application/jsonl");
      expect(await response.text()).toBe(
        `${line("a")}{"id":"b","title":"T","notes":{},"added_at":"2026-04-10","extra":{"n": 1.0, "n": 2}}\n`,
      );
    });
  });

  test("free JSON that spans lines stays one line per row and means the same", async () => {
    const notes = '{\n  "a": 1.0,\r\n\t"b": "\\n \u2028\u0085\u2029"\n}';
    async function* rows() {
      yield { ...row("a"), notes: rawJson(notes) };
      yield row("b");
    }
    await drive(stream(rows), async (send) => {
      const text = await (await send("/books/stream", post)).text();
      const [first = "", ...more] = text.split(/[\n\r\u0085\u2028\u2029]/);
      expect(more).toEqual([line("b").trim(), ""]);
      expect(first).toContain('"a": 1.0,');
      expect(JSON.parse(first)).toMatchObject({ notes: JSON.parse(notes) });
    });
    await drive(
      libraryServer({
        async *bookAsk() {
          yield { word: rawJson('"yes"\n\n') };
        },
      }),
      async (send) => {
        expect(await (await send("/books/ask", ask)).text()).toBe('data: {"word":"yes"  }\n\ndata: [DONE]\n\n');
      },
    );
  });

  test("an empty stream is an empty 200", async () => {
    await drive(
      stream(() => []),
      async (send) => {
        const response = await send("/books/stream", post);
        expect([response.status, await response.text()]).toEqual([200, ""]);
      },
    );
  });

  test("what several streams share is encoded once, among other items", async () => {
    let encoded = 0;
    const counted = { toJSON: () => `${++encoded}` };
    const shared = new SharedItems([
      { word: "é" },
      new TextEncoder().encode(": note\n\n"),
      { word: rawJson(`"${"x".repeat(100_000)}"`) },
      counted,
    ]);
    async function* words() {
      yield { word: "first" };
      yield shared;
    }
    await drive(libraryServer({ bookAsk: () => words() }), async (send) => {
      const read = async () => await (await send("/books/ask", ask)).text();
      const text = `data: {"word":"first"}\n\ndata: {"word":"é"}\n\n: note\n\ndata: {"word":"${"x".repeat(100_000)}"}\n\ndata: "1"\n\ndata: [DONE]\n\n`;
      expect([await read(), await read()]).toEqual([text, text]);
      expect(encoded).toBe(1);
    });
  });

  test("an operation that can do both returns JSON for a value and events for a stream", async () => {
    async function* words() {
      yield { word: "yes" };
      yield { word: "no" };
    }
    await drive(stream(words), async (send) => {
      const response = await send("/books/ask", ask);
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      expect(await response.text()).toBe('data: {"word":"yes"}\n\ndata: {"word":"no"}\n\ndata: [DONE]\n\n');
    });
    await drive(
      stream(() => ({ text: "yes" })),
      async (send) => {
        expect(await (await send("/books/ask", ask)).json()).toEqual({ text: "yes" });
      },
    );
  });

  test("an error before the first row is an ordinary response", async () => {
    async function* rows() {
      yield await Promise.reject(new Problem(400, "no such field"));
    }
    await drive(stream(rows), async (send) => {
      const response = await send("/books/stream", post);
      expect([response.status, await response.text()]).toEqual([400, '{"reason":"no such field"}']);
    });
  });

  test("an error after the first row cuts off the stream, so that the client notices", async () => {
    async function* rows() {
      yield row("a");
      await setTimeout(20);
      throw new Error("lost");
    }
    const errors: unknown[] = [];
    const server = libraryServer({ booksStream: rows }, { onError: (error) => void errors.push(error) });
    await drive(server, async (send) => {
      const response = await send("/books/stream", post);
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
      expect(errors).toEqual([new Error("lost")]);
    });
  });

  test("rows are gathered while they come quickly, and sent when the producer pauses", async () => {
    let go = () => {};
    const paused = new Promise<void>((resolve) => (go = resolve));
    async function* rows() {
      for (let index = 0; index < 100; index++) yield row("a");
      await paused;
      yield row("z");
    }
    await drive(stream(rows), async (send) => {
      const response = await send("/books/stream", post);
      const reader = response.body?.getReader();
      const first = await reader?.read();
      expect(new TextDecoder().decode(first?.value)).toBe(line("a").repeat(100));
      go();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(line("z"));
      expect((await reader?.read())?.done).toBe(true);
    });
  });

  test("events that fail after the first end with the error, where errors have the error object", async () => {
    async function* words() {
      yield { word: "yes" };
      throw new Problem(503, "the engine restarts", { loc: ["body", "question"] });
    }
    await drive(stream(words), async (send) => {
      const response = await send("/books/ask", ask);
      const error = '{"message":"the engine restarts","type":"ServiceUnavailableError","param":"question","code":503}';
      expect([response.status, await response.text()]).toEqual([
        200,
        `data: {"word":"yes"}\n\ndata: {"error":${error},"reason":"the engine restarts"}\n\ndata: [DONE]\n\n`,
      ]);
    });
  });

  test("an error before the first event has its status", async () => {
    // oxlint-disable-next-line require-yield -- it fails before the first event
    async function* words() {
      throw new Error("broken");
    }
    await drive(stream(words), async (send) => {
      const response = await send("/books/ask", ask);
      expect(response.status).toBe(500);
      expect(await response.json()).toEqual({
        error: { message: "Internal server error", type: "InternalServerError", param: null, code: 500 },
        reason: "Internal server error",
      });
    });
  });

  test("every event is sent at once", async () => {
    const steps: (() => void)[] = [];
    async function* words() {
      for (const word of ["one", "two"]) {
        yield { word };
        await new Promise<void>((resolve) => steps.push(resolve));
      }
    }
    await drive(stream(words), async (send) => {
      const reader = (await send("/books/ask", ask)).body?.getReader();
      for (const word of ["one", "two"]) {
        expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(`data: {"word":"${word}"}\n\n`);
        await vi.waitFor(() => expect(steps).toHaveLength(1));
        steps.shift()?.();
      }
      await reader?.cancel();
    });
  });

  test("a slow reader holds the producer back", async () => {
    let produced = 0;
    async function* rows() {
      for (; produced < 800; produced++) yield { ...row("a"), title: "x".repeat(25_000) };
    }
    await drive(stream(rows), async (send) => {
      const response = await send("/books/stream", post);
      const reader = response.body?.getReader();
      await reader?.read();
      await setTimeout(100);
      expect(produced).toBeLessThan(700);
      let size = 0;
      for (let part = await reader?.read(); !part?.done; part = await reader?.read()) size += part?.value.length ?? 0;
      expect(produced).toBe(800);
      expect(size).toBeGreaterThan(19_000_000);
    });
  });

  test("a client that leaves ends the handler: its signal aborts and its finally runs", async () => {
    const left = { aborted: false, cleaned: false };
    const handler: Handler = ({ signal }) => {
      signal.addEventListener("abort", () => (left.aborted = true));
      return (async function* () {
        try {
          for (;;) {
            yield row("a");
            await setImmediate();
          }
        } finally {
          left.cleaned = true;
        }
      })();
    };
    await drive(stream(handler), async (send) => {
      const leave = new AbortController();
      const response = await send("/books/stream", { ...post, signal: leave.signal });
      await response.body?.getReader().read();
      leave.abort();
      await vi.waitFor(() => expect(left).toEqual({ aborted: true, cleaned: true }));
    });
  });

  test("a client that leaves reaches an iterator that waits", async () => {
    let returned = false;
    const handler: Handler = () => {
      let first = true;
      const iterator = {
        next: () => {
          if (!first) return new Promise(() => {});
          first = false;
          return Promise.resolve({ done: false, value: row("a") });
        },
        return: () => {
          returned = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      };
      return { [Symbol.asyncIterator]: () => iterator };
    };
    await drive(stream(handler), async (send) => {
      const reader = (await send("/books/stream", post)).body?.getReader();
      await reader?.read();
      await reader?.cancel();
      await vi.waitFor(() => expect(returned).toBe(true));
    });
  });

  test("a client that disconnects before the response aborts the signal of its handler", async () => {
    let asked = false;
    let aborted = false;
    const handler: Handler = ({ signal }) => {
      asked = true;
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(new Error("aborted"));
        });
      });
    };
    await drive(stream(handler), async (send) => {
      const leave = new AbortController();
      const response = send("/books/ask", { ...ask, signal: leave.signal });
      await vi.waitFor(() => expect(asked).toBe(true));
      leave.abort();
      await expect(response).rejects.toThrow();
      await vi.waitFor(() => expect(aborted).toBe(true));
    });
  });

  test("HEAD on a stream of bytes gives it up unread", async () => {
    let cleaned = false;
    async function* pieces() {
      try {
        yield new Uint8Array(10);
        yield new Uint8Array(10);
      } finally {
        cleaned = true;
      }
    }
    await drive(libraryServer({ coverRead: pieces }), async (send) => {
      const response = await send("/covers/a", { method: "HEAD" });
      expect([response.status, await response.text()]).toEqual([200, ""]);
      await vi.waitFor(() => expect(cleaned).toBe(true));
    });
  });
});
