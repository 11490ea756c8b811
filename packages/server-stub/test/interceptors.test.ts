/* oxlint-disable unicorn/consistent-function-scoping -- a handler reads best inside the test that it serves */
import { describe, expect, test, vi } from "vitest";
import { onResponseEnd } from "../src/operations/interceptors.js";
import type { Interceptor, RequestContext } from "../src/operations/interceptors.js";
import { Problem } from "../src/problem.js";
import { rawJson } from "../src/json/raw-json.js";
import { drivers } from "./drivers.js";
import { libraryServer } from "./library.js";
import type { Handler } from "./library.js";

const ask: RequestInit = { method: "POST", body: '{"question":"why?"}' };
const row = (id: string) => ({ id, title: "T", notes: rawJson("{}"), added_at: "2026-04-10" });
const messageOf = (error: unknown) => (error instanceof Error ? error.message : error);

/** A server, and what an interceptor saw of each request when its response had ended. */
function watched(handlers: Record<string, Handler>) {
  const seen: unknown[] = [];
  const watch: Interceptor = (next) => async (request, context) => {
    const before = context.operation?.id;
    const response = await next(request, context);
    return onResponseEnd(response, (end) => {
      const { caller, access, error } = context;
      seen.push([before, caller, access?.project, response.status, messageOf(error), end]);
    });
  };
  const authenticate = ({ secret }: { secret: string }) => {
    if (secret === "bad") throw new Problem(401, "unknown key");
    return "ann";
  };
  const authorize = (access: RequestContext["access"]) => {
    if (typeof access?.project === "object" && access.project.id === "secret") throw new Problem(403, "Forbidden");
  };
  return { seen, server: libraryServer(handlers, { authenticate, authorize, interceptors: [watch] }) };
}

describe.each(Object.entries(drivers))("over the %s adapter, an interceptor sees", (_, drive) => {
  test("operation, caller, project and status of a response", async () => {
    const { seen, server } = watched({ bookAsk: () => ({ answer: "so" }), readHealth: () => ({ ok: true }) });
    await drive(server, async (send) => {
      await (await send("/books/ask", ask)).text();
      await (await send("/health")).text();
      await (await send("/health", { method: "HEAD" })).text();
    });
    const project = { id: "why?", loc: ["body", "question"] };
    expect(seen).toEqual([
      ["bookAsk", "ann", project, 200, undefined, "sent"],
      ["readHealth", undefined, undefined, 200, undefined, "sent"],
      ["readHealth", undefined, undefined, 200, undefined, "sent"],
    ]);
  });

  test("requests that never reach a handler, and why", async () => {
    const { seen, server } = watched({});
    await drive(server, async (send) => {
      const cases: [string, RequestInit][] = [
        ["/nope", {}],
        ["/health", { method: "PUT", body: "" }],
        ["/books/%ff", {}],
        ["/books/ask", { ...ask, headers: { authorization: "Bearer bad" } }],
        ["/books/ask", ask],
      ];
      for (const [path, init] of cases) await (await send(path, init)).text();
    });
    const forbidden = watched({ bookAsk: () => ({ answer: "so" }) });
    await drive(forbidden.server, async (send) => {
      for (const body of ['{"question":"secret"}', "{", "{}"])
        await (await send("/books/ask", { method: "POST", body })).text();
    });
    expect(seen).toEqual([
      [undefined, undefined, undefined, 404, "no such path", "sent"],
      [undefined, undefined, undefined, 405, expect.stringContaining("PUT is not possible"), "sent"],
      [undefined, undefined, undefined, 400, expect.stringContaining("percent-encoding"), "sent"],
      ["bookAsk", undefined, undefined, 401, "unknown key", "sent"],
      ["bookAsk", "ann", undefined, 501, "bookAsk is not implemented here", "sent"],
    ]);
    const project = { id: "secret", loc: ["body", "question"] };
    expect(forbidden.seen).toEqual([
      ["bookAsk", "ann", project, 403, "Forbidden", "sent"],
      ["bookAsk", "ann", undefined, 400, expect.stringContaining("JSON"), "sent"],
      ["bookAsk", "ann", undefined, 422, expect.stringContaining("question"), "sent"],
    ]);
  });

  test("the error behind a 500, which the response does not give", async () => {
    const { seen, server } = watched({
      bookAsk: () => {
        throw new Error("the shelf broke");
      },
    });
    await drive(server, async (send) => expect((await send("/books/ask", ask)).status).toBe(500));
    expect(seen).toEqual([["bookAsk", "ann", expect.anything(), 500, "the shelf broke", "sent"]]);
  });

  test("the end of a stream, not its beginning", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const { seen, server } = watched({
      async *booksStream() {
        yield row("a");
        await released;
        yield row("b");
      },
    });
    await drive(server, async (send) => {
      const response = await send("/books/stream", { method: "POST" });
      const reader = response.body?.getReader();
      await reader?.read();
      expect(seen).toEqual([]);
      release();
      while (!(await reader?.read())?.done);
      await vi.waitFor(() => expect(seen).toHaveLength(1));
    });
    expect(seen).toEqual([["booksStream", "ann", "none", 200, undefined, "sent"]]);
  });

  test("a stream that fails after its first item", async () => {
    const { seen, server } = watched({
      async *booksStream() {
        yield row("a");
        throw new Error("the page is torn");
      },
    });
    await drive(server, async (send) => {
      const response = await send("/books/stream", { method: "POST" });
      await expect(response.text()).rejects.toThrow();
      await vi.waitFor(() => expect(seen).toHaveLength(1));
    });
    expect(seen).toEqual([["booksStream", "ann", "none", 200, "the page is torn", "failed"]]);
  });

  test("a client that leaves in the middle of a stream", async () => {
    const { seen, server } = watched({
      async *booksStream({ signal }) {
        yield row("a");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    await drive(server, async (send) => {
      const response = await send("/books/stream", { method: "POST" });
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      await vi.waitFor(() => expect(seen).toHaveLength(1));
    });
    expect(seen).toEqual([["booksStream", "ann", "none", 200, undefined, "disconnected"]]);
  });
});

test("interceptors run in their order, may refuse and may change the response", async () => {
  const steps: string[] = [];
  const named =
    (name: string): Interceptor =>
    (next) =>
    async (request, context) => {
      steps.push(`before ${name}`);
      const response = await next(request, context);
      steps.push(`after ${name}`);
      return { ...response, headers: { ...response.headers, [`x-${name}`]: "1" } };
    };
  const closed: Interceptor = (next) => (request, context) => {
    if (context.operation?.id === "bookAsk") throw new Problem(429, "later", { headers: { "retry-after": "9" } });
    return next(request, context);
  };
  const interceptors = [named("a"), named("b"), closed];
  const server = libraryServer({ bookAsk: () => ({}), readHealth: () => ({ ok: true }) }, { interceptors });
  await drivers["fetch"]?.(server, async (send) => {
    const response = await send("/health");
    expect([response.headers.get("x-a"), response.headers.get("x-b")]).toEqual(["1", "1"]);
    expect(steps).toEqual(["before a", "before b", "after b", "after a"]);
    const refused = await send("/books/ask", ask);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "9"]);
    expect(await refused.json()).toMatchObject({ reason: "later" });
  });
});

test("interceptors leave paths to the server that knows them", async () => {
  const count = vi.fn<Interceptor>((next) => next);
  const seen: (string | undefined)[] = [];
  const noted: Interceptor = (next) => (request, context) => {
    seen.push(context.operation?.id);
    return next(request, context);
  };
  const fallback = async () => ({ status: 418, headers: {} });
  const server = libraryServer({}, { fallback, interceptors: [count, noted] });
  await drivers["fetch"]?.(server, async (send) => {
    expect((await send("/elsewhere")).status).toBe(418);
    expect((await send("/health")).status).toBe(501);
  });
  expect([count.mock.calls.length, seen]).toEqual([1, ["readHealth"]]);
});
