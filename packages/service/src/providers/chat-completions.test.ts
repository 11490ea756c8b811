import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { json, startUpstream } from "../../test/upstream.js";
import type { Route } from "../../test/upstream.js";
import { chatModel } from "./chat-completions.js";
import type { ChatRequest, RetryTimes } from "./chat-completions.js";
import type { Provider } from "../config/provider-settings.js";
import { openProviders } from "./providers.js";

const secret = "sk-very-secret-key";
const path = "POST /v1/chat/completions";
const times: RetryTimes = { firstMs: 1, maxMs: 2, maxRetryAfterMs: 100 };
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const completion = (message: object) => ({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
const hello = completion({ role: "assistant", content: "hello" });

let upstream: Awaited<ReturnType<typeof startUpstream>>;
beforeAll(async () => {
  upstream = await startUpstream({});
});
beforeEach(() => {
  upstream.received.length = 0;
});
afterAll(async () => upstream.close());

interface Options {
  timeoutMs?: number;
  signal?: AbortSignal;
  request?: Partial<ChatRequest>;
  times?: RetryTimes;
}

/** Completes a chat at a provider that responds by these routes in turn, and by the last one from then on. */
async function complete(routes: Route[], options: Options = {}) {
  const provider: Provider = {
    name: "acme",
    baseUrl: `${upstream.url}/v1`,
    apiKey: secret,
    missingKey: undefined,
    kinds: ["chat-completions"],
    models: [],
    allowPrivate: true,
    downloadOrigins: [],
    imageParameters: {},
    timeoutMs: options.timeoutMs ?? 5000,
  };
  const left = [...routes];
  upstream.routes[path] = (response, received) => {
    const route = left.length > 1 ? left.shift() : left[0];
    if (typeof route === "function") route(response, received);
    else json(response, route);
  };
  const model = chatModel(openProviders([provider]), "acme/loom-8b", options.times ?? times);
  const request = { messages: [{ role: "user", content: "hi" }], ...options.request };
  return model.complete(request, options.signal ?? new AbortController().signal);
}

async function failure(completed: Promise<unknown>): Promise<[code: string, message: string]> {
  const error = await completed.then(
    () => expect.unreachable("it succeeded"),
    (caught: unknown) => caught,
  );
  if (!(error instanceof HeddleError)) throw error;
  expect(`${error.message} ${String(error.cause)} ${error.stack}`).not.toContain(secret);
  return [error.code, error.message];
}

const status =
  (code: number, headers: Record<string, string> = {}): Route =>
  (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    json(response, { error: { message: `no luck with ${secret}` } }, code);
  };

test("a request goes to the model of the provider with its key, and the first choice comes back", async () => {
  const completed = await complete([hello], { request: { temperature: 0.5, model: "another" } });
  expect(completed).toEqual({ message: { role: "assistant", content: "hello" }, finishReason: "stop", usage });
  const [received] = upstream.received;
  expect(received?.headers.authorization).toBe(`Bearer ${secret}`);
  expect(JSON.parse(received?.body ?? "")).toEqual({
    model: "loom-8b",
    messages: [{ role: "user", content: "hi" }],
    temperature: 0.5,
  });
});

test("a model that no provider serves names the setting", () => {
  expect(() => chatModel(openProviders([]), "acme/loom-8b")).toThrow(/no provider .* HEDDLE_PROVIDERS/);
});

describe("a failure that may pass is tried again", () => {
  test.each([408, 429, 500, 502, 503, 529])("status %i", async (code) => {
    await complete([status(code), status(code), hello]);
    expect(upstream.received.length).toBe(3);
  });

  test("a connection that breaks", async () => {
    await complete([(response) => response.destroy(), hello]);
    expect(upstream.received.length).toBe(2);
  });

  test("a server that stalls", async () => {
    await complete([(response) => response.write("{"), hello], { timeoutMs: 300 });
    expect(upstream.received.length).toBe(2);
  });

  test("at most five times, and the last response is the error", async () => {
    const refused = complete([status(429)]);
    expect(await failure(refused)).toEqual(["busy", "acme: status 429: no luck with ***"]);
    expect(upstream.received.length).toBe(5);
  });

  test("but a timeout only once", async () => {
    const stalled = complete([() => {}], { timeoutMs: 500 });
    expect(await failure(stalled)).toEqual(["busy", expect.stringMatching(/^acme: .* did not respond within 0.5 s$/)]);
    expect(upstream.received.length).toBe(2);
  });
});

describe("Retry-After", () => {
  const patient = { ...times, firstMs: 60_000, maxMs: 60_000, maxRetryAfterMs: 2000 };

  test.each(["0", "0.01", new Date(0).toUTCString()])("of %s is used instead of the back-off", async (text) => {
    await complete([status(429, { "retry-after": text }), hello], { times: patient });
    expect(upstream.received.length).toBe(2);
  });

  test.each(["3600", "9".repeat(400), new Date(Date.now() + 3_600_000).toUTCString()])(
    "of %s is too long to wait for",
    async (text) => {
      const [code] = await failure(complete([status(429, { "retry-after": text }), hello], { times: patient }));
      expect(code).toBe("busy");
      expect(upstream.received.length).toBe(1);
    },
  );

  test("that is not a time is ignored", async () => {
    await complete([status(503, { "retry-after": "soon" }), hello]);
    expect(upstream.received.length).toBe(2);
  });
});

describe("a failure that does not pass is an error at once", () => {
  test.each([
    [status(400), "failed", "acme: status 400: no luck with ***"],
    [status(401), "denied", "acme: status 401: no luck with ***"],
    [status(403), "denied", "acme: status 403: no luck with ***"],
    [status(404), "failed", "acme: status 404: no luck with ***"],
    [status(500, { "x-should-retry": "false" }), "busy", "acme: status 500: no luck with ***"],
  ] as const)("%#", async (route, code, message) => {
    expect(await failure(complete([route]))).toEqual([code, message]);
    expect(upstream.received.length).toBe(1);
  });

  const text =
    (body: string): Route =>
    (response) =>
      response.end(body);

  test.each([
    ["text", text("<html>"), /is not a JSON object/],
    ["nothing", text(""), /is not a JSON object/],
    ["deep JSON", text(`${"[".repeat(100_000)}${"]".repeat(100_000)}`), /is not a JSON object/],
    ["a list", text("[]"), /is not a JSON object/],
    ["no choices", text("{}"), /no choice with a message/],
    ["an empty list of choices", text('{"choices":[]}'), /no choice with a message/],
    ["a choice without a message", text('{"choices":[{"text":"hi"}]}'), /no choice with a message/],
    ["an error with status 200", text(`{"error":{"message":"bad ${secret}"}}`), /^acme: status 200: bad \*\*\*$/],
    ["a redirect", ((response) => response.writeHead(302, { location: "/" }).end()) satisfies Route, /not followed/],
    ["too much", text(`{"choices":"${"x".repeat(9 * 1024 * 1024)}"}`), /larger than 8388608 bytes/],
  ] as const)("%s", async (_, route, message) => {
    expect(await failure(complete([route]))).toEqual([expect.any(String), expect.stringMatching(message)]);
    expect(upstream.received.length).toBe(1);
  });

  test("an endless response ends at the limit", async () => {
    const endless: Route = (response) => {
      const more = () => !response.destroyed && response.write("x".repeat(65_536), more);
      more();
    };
    expect(await failure(complete([endless]))).toEqual(["failed", expect.stringMatching(/larger than/)]);
  });
});

test("a usage that is not a count is left out", async () => {
  const completed = await complete([{ ...hello, usage: { tokens: "9".repeat(20_000) } }]);
  expect(completed.usage).toBeUndefined();
});

test("a key that the server repeats is not part of a completion", async () => {
  const escaped = secret.replace("s", String.raw`\u0073`);
  const route: Route = (response) =>
    response.end(`{"choices":[{"message":{"content":"your key is ${secret}, that is ${escaped}"}}]}`);
  expect((await complete([route])).message["content"]).toBe("your key is ***, that is ***");
});

describe("cancelling ends", () => {
  test("a request", async () => {
    const controller = new AbortController();
    const route: Route = () => controller.abort();
    expect((await failure(complete([route], { signal: controller.signal })))[0]).toBe("aborted");
  });

  test("the pause before the next attempt", async () => {
    const controller = new AbortController();
    const route: Route = (response, received) => {
      response.on("close", () => controller.abort());
      (status(503, { "retry-after": "2" }) as (...args: unknown[]) => void)(response, received);
    };
    const patient = { ...times, maxRetryAfterMs: 60_000 };
    expect((await failure(complete([route], { signal: controller.signal, times: patient })))[0]).toBe("aborted");
    expect(upstream.received.length).toBe(1);
  });
});
