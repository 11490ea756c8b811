import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { flush, init, trace } from "@heddle/client/trace";
import { startTraceServer } from "./trace-server.js";

async function start(...statuses: (number | Record<string, string>)[]) {
  const server = await startTraceServer(...statuses);
  const log: string[] = [];
  init({ baseUrl: server.baseUrl, apiKey: "k", project: "acme/demo", log: (message) => log.push(message) });
  return { ...server, log };
}

test("functions that call each other become a tree, also when they run at once", async () => {
  const { named, all, requests } = await start();
  const lookUp = trace("look-up", async (word: string) => {
    await delay(word.length);
    return word.length;
  });
  const answer = trace({ name: "answer", attributes: { tier: 1 }, thread: "t1" }, async (input: { question: string }) =>
    Promise.all(input.question.split(" ").map((word) => lookUp(word))),
  );
  expect(await Promise.all([answer({ question: "a bcd" }), answer({ question: "ef" })])).toEqual([[1, 3], [2]]);
  expect(await flush(30_000)).toBe(true);
  const roots = all().filter(({ parent_id }) => parent_id === undefined);
  expect(roots.map(({ output }) => output)).toEqual([[1, 3], [2]]);
  expect(roots[0]).toMatchObject({
    project_id: "acme/demo",
    inputs: { question: "a bcd" },
    attributes: { tier: 1 },
    thread_id: "t1",
    turn_id: roots[0]!.id,
    summary: { status_counts: { success: 3, error: 0 } },
  });
  const children = all().filter(({ parent_id }) => parent_id === roots[0]!.id);
  expect(children.map(({ inputs, output }) => [inputs["arg0"], output])).toEqual([
    ["a", 1],
    ["bcd", 3],
  ]);
  for (const { trace_id, turn_id } of children) expect([trace_id, turn_id]).toEqual([roots[0]!.trace_id, roots[0]!.id]);
  expect(named("look-up").ended_at).toBeDefined();
  expect(requests[0]!.headers.authorization).toBe(`Basic ${btoa("api:k")}`);
});

test("results, receivers and errors are those of the function itself", async () => {
  const { named } = await start();
  const failure = new TypeError("no such word");
  const fails = trace("fails", () => {
    throw failure;
  });
  const rejects = trace("rejects", async () => fails());
  await expect(rejects()).rejects.toBe(failure);
  const counter = {
    n: 2,
    times: trace("times", function (this: { n: number }, by: number) {
      return this.n * by;
    }),
  };
  expect(counter.times(4)).toBe(8);
  await flush(30_000);
  expect(named("fails").exception).toMatch(/^TypeError: no such word\n/);
  expect(named("fails").parent_id).toBe(named("rejects").id);
  expect(named("rejects").summary).toMatchObject({ status_counts: { success: 0, error: 2 } });
  expect(named("times").output).toBe(8);
});

test("generators and streams end with what was read of them", async () => {
  const { named } = await start();
  const inner = trace("inner", () => 1);
  const words = trace("words", async function* () {
    yield "a ";
    inner();
    yield "b";
  });
  const read: string[] = [];
  for await (const word of words()) read.push(word);
  const left = trace("left", function* () {
    yield 1;
    yield 2;
  });
  for (const each of left()) if (each === 1) break;
  const breaks = trace("breaks", async function* () {
    yield 1;
    throw new Error("cut");
  });
  await expect(async () => {
    for await (const each of breaks()) expect(each).toBe(1);
  }).rejects.toThrow("cut");
  const bytes = trace("bytes", async () => new Blob(["caf", "é"]).stream());
  expect(await new Response(await bytes()).text()).toBe("café");
  await flush(30_000);
  expect(read).toEqual(["a ", "b"]);
  expect(named("words").output).toBe("a b");
  expect(named("inner").parent_id).toBe(named("words").id);
  expect(named("left").output).toEqual([1]);
  expect(named("breaks").exception).toMatch("cut");
  expect(named("bytes").output).toBe("café");
});

test("values that JSON has no form for are readable text, numbers stay", async () => {
  const { named } = await start();
  const cycle: Record<string, unknown> = { name: "c" };
  cycle["self"] = cycle;
  const broken = {
    get bad(): string {
      throw new Error("not now");
    },
  };
  const shared = { x: 1 };
  const bytes = Buffer.from([255, 0]);
  const given: [unknown, unknown][] = [
    [cycle, { name: "c", self: "[cycle]" }],
    [broken, { bad: "[not readable: not now]" }],
    [12n, "12"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [Buffer.from("hé"), "hé"],
    [bytes, "[2 bytes]"],
    [flush, "[function flush]"],
    [Number.NaN, "NaN"],
    [0.1, 0.1],
    [1e21, 1e21],
    [new Map([["k", new Set([1])]]), { k: [1] }],
    [new Error("e"), "Error: e"],
    [Promise.resolve(), "[object Promise]"],
    [
      [shared, shared],
      [shared, shared],
    ],
    [null, null],
    [/a/, "/a/"],
  ];
  trace("values", (..._all: unknown[]) => undefined)(...given.map(([value]) => value));
  await flush(30_000);
  expect(Object.values(named("values").inputs)).toEqual(given.map(([, recorded]) => recorded));
});

test("what the service cannot take now is sent again", async () => {
  const { named, requests, log } = await start(503, 429);
  trace("later", () => 1)();
  expect(await flush(30_000)).toBe(true);
  expect(requests.length).toBe(3);
  expect(named("later").output).toBe(1);
  expect(log.filter((message) => message.includes("503"))).toHaveLength(1);
});

test("the service says as a date from when on it can take calls", async () => {
  const date = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000);
  const { requests, named } = await start({ "retry-after": date.toUTCString() });
  trace("dated", () => 1)();
  expect(await flush(30_000)).toBe(true);
  expect(requests).toHaveLength(2);
  // Timers may be early by less than a tick.
  expect(Date.now()).toBeGreaterThan(date.getTime() - 50);
  expect(named("dated").output).toBe(1);
});

test("a batch that is too large is halved, and what is refused is said once", async () => {
  const { requests, all, log } = await start(413, 413, 200, 200, 403, 403);
  for (let index = 0; index < 2; index += 1) trace("part", () => index)();
  expect(await flush(30_000)).toBe(true);
  expect(all()).toHaveLength(2);
  expect(requests.length).toBe(4);
  for (let index = 0; index < 2; index += 1) {
    trace("refused", () => 1)();
    await flush(30_000);
  }
  expect(log.filter((message) => message.includes("403"))).toHaveLength(1);
});
