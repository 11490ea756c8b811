import { HeddleError } from "@heddle/errors";
import type { Sink } from "@heddle/server-stub";
import { beforeEach, expect, test } from "vitest";
import { defaultLimits } from "../../config/config.js";
import { select } from "./select.js";
import type { Arguments } from "./document.js";
import type { Fields } from "./select.js";
import { GraphqlWork } from "./work.js";

let calls: string[];
beforeEach(() => void (calls = []));

const text = `${'"\\ü'.repeat(50_000)}${"😀".repeat(70_000)}\ud800`;
const item = (n: number): Fields => ({
  __typename: "Item",
  n,
  url() {
    calls.push(`url ${n}`);
    return `http://${n}`;
  },
});
const query: Fields = {
  things(args: Arguments) {
    calls.push(`things ${JSON.stringify(args)}`);
    return { items: [item(1), item(2)], tags: ["a", "b"], none: null, text, big: 2n ** 70n, many: () => [] };
  },
};
const mutation: Fields = {
  add(args: Arguments) {
    calls.push(`add ${JSON.stringify(args)}`);
    return { ok: true };
  },
};

async function ask(source: string, variables: Record<string, unknown> = {}, signal = new AbortController().signal) {
  const work = new GraphqlWork(undefined, defaultLimits, signal);
  const body = (await select({ query: source, variables }, { query, mutation }, work)).body();
  if (typeof body === "string") return JSON.parse(body) as { data: unknown };
  let written = "";
  const sink: Sink = { closed: false, write: (chunk) => void (written += String(chunk)), onClose: () => {} };
  await body(sink);
  return JSON.parse(written) as { data: unknown };
}

test("a field is computed where it is selected only, and once for the same arguments", async () => {
  const { data } = await ask(
    "{ a: things(x: 1) { items { n } } b: things(x: 1) { items { n url } } c: things(x: 2) { tags } }",
  );
  expect(data).toEqual({
    a: { items: [{ n: 1 }, { n: 2 }] },
    b: {
      items: [
        { n: 1, url: "http://1" },
        { n: 2, url: "http://2" },
      ],
    },
    c: { tags: ["a", "b"] },
  });
  expect(calls).toEqual(['things {"x":1}', "url 1", "url 2", 'things {"x":2}']);
});

test("selections of one name count together, and two fields cannot have one name", async () => {
  const merged = "{ things { ...A ...B } } fragment A on T { items { n } } fragment B on T { items { url } tags none }";
  expect((await ask(merged)).data).toEqual({
    things: {
      items: [item(1), item(2)].map(({ n }) => ({ n, url: `http://${String(n)}` })),
      tags: ["a", "b"],
      none: null,
    },
  });
  await expect(ask("{ a: things(x: 1) { tags } a: things(x: 2) { tags } }")).rejects.toThrow(/a is the name of two/);
});

test("a mutation runs as often as it is selected, and only inside of a mutation", async () => {
  await ask("mutation { a: add(x: 1) { ok } b: add(x: 1) { ok } }");
  expect(calls).toEqual(['add {"x":1}', 'add {"x":1}']);
  await expect(ask("query { add { ok } }")).rejects.toThrow(/a query can select things here, not add/);
  await expect(ask("mutation { things { tags } }")).rejects.toThrow(/not things/);
  await expect(ask("subscription { things { tags } }")).rejects.toThrow(/subscriptions/);
});

const inherited = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "toJSON"];
test.each(inherited)("%s is a name like any other", async (name) => {
  await expect(ask(`{ ${name} }`)).rejects.toThrow(`not ${name}`);
  expect((await ask(`{ things { ${name} items { ${name} } } }`)).data).toEqual({
    things: Object.fromEntries([
      [name, null],
      ["items", [1, 2].map(() => Object.fromEntries([[name, null]]))],
    ]),
  });
  const aliased = (await ask(`{ ${name}: things { ${name}: tags } }`)).data as Record<string, unknown>;
  expect(Object.getOwnPropertyDescriptor(aliased, name)?.value).toEqual(Object.fromEntries([[name, ["a", "b"]]]));
  await ask(`query ($${name}: Int) { things(x: $${name}, ${name}: 1) { tags } }`);
  expect(calls.at(-1)).toBe(
    `things ${JSON.stringify(
      Object.fromEntries([
        ["x", undefined],
        [name, 1],
      ]),
    )}`,
  );
  await ask(`query ($${name}: Int) { things(x: $${name}) { tags } }`, Object.fromEntries([[name, 7]]));
  expect(calls.at(-1)).toBe('things {"x":7}');
});

test("long texts come whole, in slices, and take their memory once", async () => {
  const { data } = await ask("{ things { text again: text big } }");
  expect(data).toEqual({ things: { text, again: text, big: 2 ** 70 } });
});

test("fragments that repeat each other are applied once", async () => {
  const names = Array.from({ length: 20 }, (_, at) => `F${at}`);
  const fragments = names.map((name, at) => `fragment ${name} on T { ${`...${names[at + 1] ?? "End"} `.repeat(50)} }`);
  const doubling = `{ things { ...F0 } } ${fragments.join(" ")} fragment End on T { tags }`;
  await expect(ask(doubling)).rejects.toMatchObject({
    code: "too_large",
    message: expect.stringContaining("20 levels"),
  });
  const short = `{ things { ...F15 } } ${fragments.join(" ")} fragment End on T { tags }`;
  expect((await ask(short)).data).toEqual({ things: { tags: ["a", "b"] } });
  expect((await ask("{ ...A } fragment A on Query { ...A }")).data).toEqual({});
});

test("objects need a selection; unknown fragments and broken texts are named", async () => {
  await expect(ask("{ things }")).rejects.toThrow("things needs a selection");
  await expect(ask("{ things { ...Gone } }")).rejects.toThrow("lacks a fragment");
  await expect(ask("{ things")).rejects.toThrow(/Syntax Error/);
  await expect(ask("fragment A on T { a }")).rejects.toThrow("no operation");
});

test.each([
  ["levels", `{ things ${"{ ... ".repeat(25)}{ tags }${" }".repeat(25)} }`, /20 levels/],
  ["tokens", `{ ${"things { tags } ".repeat(2000)} }`, /5000 tokens/],
  ["characters", `{ things { tags } } #${"x".repeat(100_000)}`, /100000 characters/],
  [
    "mutations",
    `mutation { ${Array.from({ length: 30 }, (_, n) => `a${n}: add { ok }`).join(" ")} }`,
    /costs too much/,
  ],
])("too many %s are too large", async (_, source, message) => {
  await expect(ask(source)).rejects.toMatchObject({ code: "too_large", message: expect.stringMatching(message) });
  expect(calls.length).toBeLessThan(25);
});

test("work is charged before it is done, lets others run and ends when its client has left", async () => {
  const work = new GraphqlWork(undefined, defaultLimits, new AbortController().signal);
  expect(() => work.charge("row", 1_000_000)).toThrow(HeddleError);
  const left = new AbortController();
  const leaving = new GraphqlWork(undefined, defaultLimits, left.signal);
  let others = 0;
  const timer = setInterval(() => {
    if (++others > 2) left.abort(new Error("left"));
  }, 0);
  const busy = async () => {
    for (;;) await leaving.pause();
  };
  await expect(busy()).rejects.toThrow("left");
  clearInterval(timer);
});
