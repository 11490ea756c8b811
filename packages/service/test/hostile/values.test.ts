import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isDeep } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const answer = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}` },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}

const many = isDeep ? 1_000_000 : 50_000;
const deep = (levels: number) => `${'{"a":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}`;

/** Documents that parsers change, lose or fall over. */
const documents: Record<string, string> = {
  "numbers in every spelling": `{"a":1.0,"b":1E5,"c":-0,"d":-0.0,"e":1e-7,"f":0.10,"g":1e400,"h":-1e-400}`,
  "integers beyond 64 bits": `{"a":18446744073709551616,"b":-9223372036854775809,"c":${"9".repeat(400)}}`,
  "duplicate keys": `{"a":1,"a":2,"a":{"b":1,"b":2}}`,
  "keys that are the machinery of JavaScript": `{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":1,"hasOwnProperty":0}`,
  "keys that are empty, blank, dotted or a number": `{"":1," ":2,"a.b":3,"a\\\\.b":4,"0":5,"-1":6,"[0]":7}`,
  "white space between all tokens": `{ "a" :\t[ 1 ,\r\n 2 ] ,\n"b" : { } }`,
  "escapes in every spelling": `{"a":"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\","b":"\\ud83d\\ude00","c":"\\uD83D\\uDE00"}`,
  "lone surrogates": `{"a":"\\ud800","\\udc00":"\\udfff\\ud800"}`,
  "escaped NUL": `{"a":"\\u0000","\\u0000":"a\\u0000b"}`,
  [`${many} keys`]: `{${Array.from({ length: many }, (_, index) => `"k${index}":1`).join(",")}}`,
  [`${many} empty lists`]: `{"a":[${"[],".repeat(many)}[]]}`,
  "200 levels": deep(200),
};

describe("free JSON comes back byte for byte", () => {
  test.each(Object.entries(documents))("%s", { timeout: 120_000 }, async (_, text) => {
    const projectId = newProject();
    const start = `{"start":{"project_id":"${projectId}","id":"c","trace_id":"t","op_name":"op","started_at":0,"attributes":${text},"inputs":${text}}}`;
    const end = `{"end":{"project_id":"${projectId}","id":"c","ended_at":1,"output":${text},"summary":{}}}`;
    expect(await post("/call/start", start)).toMatchObject({ status: 200 });
    expect(await post("/call/end", end)).toMatchObject({ status: 200 });
    const call = (await post("/calls/query", `{"project_id":"${projectId}"}`)).text;
    for (const name of ["attributes", "inputs", "output"]) expect(call.includes(`"${name}":${text},`)).toBe(true);

    const lines = (await post("/calls/stream_query", `{"project_id":"${projectId}"}`)).text.split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]?.includes(`"inputs":${text.replace(/[\r\n]/g, " ")}`)).toBe(true);

    const obj = `{"obj":{"project_id":"${projectId}","object_id":"o","val":${text}}}`;
    expect(await post("/obj/create", obj)).toMatchObject({ status: 200 });
    const object = await post("/obj/read", `{"project_id":"${projectId}","object_id":"o","digest":"latest"}`);
    expect(object.text.includes(`"val":${text},`)).toBe(true);

    const table = await post("/table/create", `{"table":{"project_id":"${projectId}","rows":[${text},${text}]}}`);
    expect(table.status).toBe(200);
    const { digest } = JSON.parse(table.text) as { digest: string };
    const rows = await post("/table/query", `{"project_id":"${projectId}","digest":"${digest}"}`);
    expect(rows.text.split(`"val":${text}`)).toHaveLength(3);
  });
});

test("bare NaN and infinities come back as null, and nothing else changes", async () => {
  const projectId = newProject();
  const text = `{ "a":NaN,"b":[-Infinity,Infinity, 1.0],"c":"NaN"}`;
  const start = `{"start":{"project_id":"${projectId}","id":"c","trace_id":"t","op_name":"op","started_at":0,"attributes":${text},"inputs":${text}}}`;
  expect((await post("/call/start", start)).status).toBe(200);
  const { text: call } = await post("/call/read", `{"project_id":"${projectId}","id":"c"}`);
  expect(call.split(`{ "a":null,"b":[null,null, 1.0],"c":"NaN"}`)).toHaveLength(3);
  // Outside free JSON they count as null too, which means absent.
  const read = `{"project_id":"${projectId}","id":"c","include_costs":NaN}`;
  expect((await post("/call/read", read)).status).toBe(200);
});

test("free JSON deeper than 200 levels costs its item, and the whole request where there is one item", async () => {
  const projectId = newProject();
  const start = (id: string, inputs: string) =>
    `{"start":{"project_id":"${projectId}","id":"${id}","trace_id":"t","op_name":"op","started_at":0,"attributes":{},"inputs":${inputs}}}`;
  for (const levels of [202, isDeep ? 1_000_000 : 10_000]) {
    expect(await post("/call/start", start("c", deep(levels)))).toMatchObject({ status: 413, text: /200 levels/ });
    const batch = ["a", "b", "c"].map((id) => `{"req":${start(id, id === "b" ? deep(levels) : deep(200))}}`);
    const { status, text } = await post("/call/upsert_batch", `{"batch":[${batch.join(",")}]}`);
    expect(status).toBe(200);
    expect((JSON.parse(text) as { res: object[] }).res).toEqual([
      { id: "a", trace_id: "t" },
      {
        error: {
          loc: ["body", "batch", 1, "req", "start", "inputs"],
          msg: expect.any(String),
          type: expect.any(String),
        },
      },
      { id: "c", trace_id: "t" },
    ]);
    expect(
      (await post("/obj/create", `{"obj":{"project_id":"${projectId}","object_id":"o","val":${deep(levels)}}}`)).status,
    ).toBe(413);
    expect(
      (await post("/table/create", `{"table":{"project_id":"${projectId}","rows":[${deep(levels)}]}}`)).status,
    ).toBe(413);
  }
});

test("a key named __proto__ outside free JSON changes nothing about anybody", async () => {
  const projectId = newProject();
  const start = `{"__proto__":{"polluted":1},"start":{"__proto__":{"id":"evil","polluted":1},"project_id":"${projectId}","id":"c","trace_id":"t","op_name":"op","started_at":0,"attributes":{},"inputs":{}}}`;
  expect(JSON.parse((await post("/call/start", start)).text)).toEqual({ id: "c", trace_id: "t" });
  expect("polluted" in {}).toBe(false);
  for (const [path, part] of [
    ["/calls/query", `"filter":{"__proto__":{"op_names":["x"]}}`],
    ["/calls/query", `"query":{"$expr":{"$eq":[1,1]},"__proto__":1}`],
    ["/calls/query", `"query":{"$expr":{"__proto__":[{"$literal":1},{"$literal":1}]}}`],
  ] as const) {
    expect([part, (await post(path, `{"project_id":"${projectId}",${part}}`)).status]).toEqual([part, 422]);
  }
});

test("a query that is deep or wide is executed or refused, never an error 500", async () => {
  const projectId = newProject();
  const query = (expr: string) => post("/calls/query", `{"project_id":"${projectId}","query":{"$expr":${expr}}}`);
  const truth = `{"$eq":[{"$literal":1},{"$literal":1}]}`;
  for (const levels of [10, 90, 95]) {
    const { status } = await query(`${'{"$not":['.repeat(levels)}${truth}${"]}".repeat(levels)}`);
    expect([levels, status]).toEqual([levels, expect.toSatisfy((s: number) => s === 200 || s === 400)]);
  }
  expect((await query(`${'{"$not":['.repeat(1000)}${truth}${"]}".repeat(1000)}`)).status).toBe(413);
  for (const width of [100, 3000, 50_000]) {
    const { status } = await query(`{"$and":[${Array.from({ length: width }, () => truth).join(",")}]}`);
    expect([width, status]).toEqual([width, expect.toSatisfy((s: number) => s === 200 || s === 400 || s === 413)]);
  }
  // What grows when it is put into itself: operands of lists, and casts to and fro.
  const field = `{"$getField":"inputs.a"}`;
  let lists = truth;
  let casts = field;
  let comparisons = truth;
  for (let level = 0; level < 40; level++) {
    lists = `{"$in":[${lists},[${field},${field}]]}`;
    casts = `{"$convert":{"input":${casts},"to":"${["bool", "string", "double", "int"][level % 4]}"}}`;
    comparisons = `{"$gt":[{"$eq":[${comparisons},${field}]},${field}]}`;
  }
  expect((await query(lists)).status).toBe(400);
  for (const expr of [`{"$eq":[${casts},{"$literal":1}]}`, comparisons]) {
    expect([200, 400, 413]).toContain((await query(expr)).status);
  }
  const literals = Array.from({ length: 50_000 }, (_, index) => `{"$literal":"v${index}"}`);
  expect((await query(`{"$in":[{"$getField":"inputs.a"},[${literals.join(",")}]]}`)).status).toBe(200);
  const path = `inputs.${"a.".repeat(5000)}a`;
  expect((await query(`{"$eq":[{"$getField":"${path}"},{"$literal":1}]}`)).status).toBeLessThan(500);
});
