import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { quietClient } from "../../test/quiet-client.js";

const client = quietClient();
afterAll(() => client.close());

async function newTable(columns = "id UInt64, name String"): Promise<string> {
  const table = `insert_${randomUUID().replaceAll("-", "_")}`;
  await client.command({
    query: `CREATE TABLE ${table} (${columns}) ENGINE = MergeTree ORDER BY tuple()`,
  });
  return table;
}

async function content(table: string): Promise<unknown[]> {
  const query = `SELECT * FROM ${table} ORDER BY ALL`;
  return (await client.query({ query, format: "JSONCompactEachRow" })).json();
}

const twoRows = [
  ["1", "tab\tand\nnewline"],
  ["2", "ünï \\ 'q' \"d\""],
];

const payloads = {
  TabSeparated: "1\ttab\\tand\\nnewline\n2\tünï \\\\ 'q' \"d\"\n",
  TabSeparatedWithNames: "name\tid\ntab\\tand\\nnewline\t1\nünï \\\\ 'q' \"d\"\t2\n",
  CSV: '1,"tab\tand\nnewline"\n2,"ünï \\ \'q\' ""d"""\n',
  CSVWithNames: '"id","name"\n1,"tab\tand\nnewline"\n2,"ünï \\ \'q\' ""d"""\n',
} as const;

test.each(Object.keys(payloads) as Array<keyof typeof payloads>)(
  "rows streamed in as %s are there, and counted in the summary",
  async (format) => {
    const table = await newTable();
    const values = Readable.from(payloads[format].match(/[^]{1,7}/g) ?? [], { objectMode: false });
    const result = await client.insert({ table, values, format });
    expect(result.summary).toMatchObject({ written_rows: "2", result_rows: "2" });
    expect(await content(table)).toEqual(twoRows);
  },
);

test.each(["JSONEachRow", "JSONCompactEachRow"] as const)("rows come in as %s", async (format) => {
  const table = await newTable();
  const values: unknown[] = format === "JSONEachRow" ? twoRows.map(([id, name]) => ({ id, name })) : twoRows;
  await client.insert({ table, values, format });
  expect(await content(table)).toEqual(twoRows);
});

test("bytes of a binary format arrive unchanged", async () => {
  const table = await newTable("bytes String");
  const { stream } = await client.exec({
    query: `INSERT INTO ${table} FORMAT RowBinary`,
    values: Readable.from([Buffer.from([4, 0, 0xff, 0x0a, 0x80])], { objectMode: false }),
  });
  stream.destroy();
  const result = await client.query({ query: `SELECT hex(bytes) FROM ${table}`, format: "CSV" });
  expect(await result.text()).toBe('"00FF0A80"\n');
});

test.each([
  ["at its start", Buffer.from("\n")],
  ["in a text", Buffer.from("\x04a\n\nb", "latin1")],
  ["before a statement", Buffer.from("\x01a\n\nCREATE TABLE intruder (x UInt8) ENGINE = Memory", "latin1")],
])("data with an empty line %s is refused, as the engine would run what follows it", async (_, bytes) => {
  const table = await newTable("bytes String");
  const values = Readable.from([bytes], { objectMode: false });
  await expect(client.exec({ query: `INSERT INTO ${table} FORMAT RowBinary`, values })).rejects.toMatchObject({
    type: "NOT_IMPLEMENTED",
  });
  expect(await content(table)).toEqual([]);
  const exists = await client.query({ query: "EXISTS TABLE intruder", format: "TabSeparated" });
  expect(await exists.text()).toBe("0\n");
});

test("data may be in the statement itself", async () => {
  const table = await newTable();
  await client.command({ query: `INSERT INTO ${table} VALUES (1, 'a;b'), (2, 'c')` });
  await client.command({ query: `INSERT INTO ${table} FORMAT JSONEachRow {"id":3,"name":"ü"}` });
  await client.command({ query: `INSERT INTO ${table} SELECT number + 4, 'n' FROM numbers(2)` });
  expect(await content(table)).toEqual([
    ["1", "a;b"],
    ["2", "c"],
    ["3", "ü"],
    ["4", "n"],
    ["5", "n"],
  ]);
});

test("an insert with no rows is not an error", async () => {
  const table = await newTable();
  const values = Readable.from([], { objectMode: false });
  await client.insert({ table, values, format: "TabSeparated" });
  expect(await content(table)).toEqual([]);
});

test("a compressed insert is read", async () => {
  const table = await newTable();
  const zipped = quietClient({ compression: { request: true } });
  await zipped.insert({ table, values: [{ id: 1, name: "z" }], format: "JSONEachRow" });
  await zipped.close();
  expect(await content(table)).toEqual([["1", "z"]]);
});

test("an insert larger than one block of the host arrives complete", async () => {
  const table = await newTable();
  const line = Buffer.from(`7\t${"x".repeat(9_998)}\n`);
  const block = Buffer.concat(Array.from({ length: 100 }, () => line));
  async function* lines(): AsyncGenerator<Buffer> {
    for (let count = 0; count < 90; count++) yield await Promise.resolve(block);
  }
  const values = Readable.from(lines(), { objectMode: false });
  const { summary } = await client.insert({ table, values, format: "TabSeparated" });
  expect(summary?.written_rows).toBe("9000");
  const query = `SELECT count() AS rows, sum(length(name)) AS size FROM ${table}`;
  const counted = await client.query({ query, format: "JSONEachRow" });
  expect(await counted.json()).toEqual([{ rows: "9000", size: String(9000 * 9998) }]);
});

test("a bad row fails the insert with the position of the row", async () => {
  const table = await newTable();
  const values = Readable.from(["1\ta\nno number\tb\n"], { objectMode: false });
  await expect(client.insert({ table, values, format: "TabSeparated" })).rejects.toMatchObject({
    type: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    message: expect.stringContaining("row 2") as string,
  });
  expect(await content(table)).toEqual([]);
});

test("an insert whose client disconnects half-way writes nothing", async () => {
  const table = await newTable();
  const stop = new AbortController();
  async function* halfOfIt(): AsyncGenerator<string> {
    yield "1\ta\n2\tb\n";
    await new Promise((resolve) => setTimeout(resolve, 100));
    stop.abort();
    yield "3\tc\n";
  }
  const values = Readable.from(halfOfIt(), { objectMode: false });
  await expect(client.insert({ table, values, format: "TabSeparated", abort_signal: stop.signal })).rejects.toThrow(
    /abort/,
  );
  expect(await content(table)).toEqual([]);
});
