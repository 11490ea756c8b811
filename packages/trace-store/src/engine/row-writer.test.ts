import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { RowWriter } from "./row-writer.js";
import { quotedBytes } from "./tab-separated.js";

const db = testDatabase();
beforeAll(async () => {
  await db.open();
  await db.engine.command({
    sql: `CREATE TABLE sample (id UInt8, text String, low LowCardinality(String), list Array(String), numbers Array(UInt64),
      pairs Map(LowCardinality(String), String), maybe Nullable(String), at DateTime64(6,'UTC'), second DateTime('UTC'))
      ENGINE=MergeTree ORDER BY id`,
  });
});
afterAll(() => db.drop());

interface Sample {
  text: string;
  low: string;
  list: string[];
  numbers: string[];
  pairs: Record<string, string>;
  maybe: string | null;
  at: string;
  second: string;
}

const row = new RowWriter();

async function roundTrip(id: number, text: string, at: bigint, numbers: bigint[]): Promise<Sample | undefined> {
  const sample = row.rowOf(() => {
    row.integer(id);
    row.text(text);
    row.text(text);
    row.texts([text, "", text]);
    row.integersOf(numbers, (number) => number);
    row.textMap([[text, quotedBytes(text)]]);
    if (id % 2 === 0) row.text(text);
    else row.null();
    row.time(at);
    row.second(at);
  });
  const columns = ["id", "text", "low", "list", "numbers", "pairs", "maybe", "at", "second"];
  await db.engine.insert("sample", columns, [sample]);
  const rows = await db.engine.rows<Sample>({
    sql: `SELECT text, low, list, numbers, pairs, maybe, toUnixTimestamp64Micro(at) AS at, toUnixTimestamp(second) AS second FROM sample WHERE id = ${id}`,
  });
  return rows[0];
}

const texts = [
  "",
  "plain",
  "tab\tnewline\ncarriage\r\nreturn",
  "back\\slash \\N \\t \\' end\\",
  `quotes ' " \` and [brackets], {braces}: 'x'`,
  "nul \u0000 bell \u0007 escape \u001b",
  "żółć 漢字 🧵 \u2028",
  "NULL",
];

test("text comes back from the engine as it went in, in every kind of column", async () => {
  for (const [id, text] of texts.entries()) {
    const sample = await roundTrip(id, text, 0n, []);
    const expected = { text, low: text, list: [text, "", text], pairs: { [text]: text } };
    expect(sample).toMatchObject({ ...expected, maybe: id % 2 === 0 ? text : null });
  }
});

test("texts of every length come back, whatever their characters take", async () => {
  const lengths = [0, 1, 23, 24, 25, 42, 43, 63, 64, 126, 127, 128, 129, 5461, 5462, 16_383, 16_384, 65_536, 70_000];
  const wide = lengths.flatMap((length) => ["a", "é", "漢", "🧵"].map((letter) => letter.repeat(length)));
  await db.engine.command({ sql: "CREATE TABLE lengths (id UInt32, text String) ENGINE=MergeTree ORDER BY id" });
  const rows = wide.map((text, id) =>
    row.rowOf(() => {
      row.integer(id);
      expect(row.text(text)).toBe(Buffer.byteLength(text));
    }),
  );
  await db.engine.insert("lengths", ["id", "text"], rows);
  const stored = await db.engine.rows<{ text: string }>({ sql: "SELECT text FROM lengths ORDER BY id" });
  expect(stored.map(({ text }) => text)).toEqual(wide);
});

test("no text can end its row and be taken for a statement", async () => {
  await db.engine.command({ sql: "CREATE TABLE lines (text String, more String) ENGINE=MergeTree ORDER BY text" });
  const blanks = [
    "\n\n",
    "\r\n\r\n",
    "x\n\nCREATE TABLE intruder (x UInt8) ENGINE=Memory",
    "\n\n;\n\nSELECT 1",
    "\t\n\n",
  ];
  for (const text of blanks) {
    const line = row.rowOf(() => {
      row.text(text);
      row.text(text);
    });
    await db.engine.insert("lines", ["text", "more"], [line]);
  }
  const stored = await db.engine.rows<{ text: string; more: string }>({ sql: "SELECT text, more FROM lines" });
  expect(stored.map(({ text }) => text).toSorted()).toEqual(blanks.toSorted());
  expect(stored.every(({ text, more }) => text === more)).toBe(true);
  expect(await db.engine.rows({ sql: "SELECT name FROM system.tables WHERE name = 'intruder'" })).toEqual([]);
});

test("a lone surrogate becomes the replacement character", async () => {
  expect(await roundTrip(150, "a\ud800b", 0n, [])).toMatchObject({ text: "a\ufffdb" });
});

test("times from 1900 to 2299 keep their microsecond, and 64-bit integers every digit", async () => {
  const times = [
    "1900-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z",
    "2026-04-10T09:00:00Z",
    "2299-12-31T23:59:59Z",
  ];
  for (const [index, text] of times.entries()) {
    const at = BigInt(Date.parse(text)) * 1000n + BigInt(index === 2 ? 0 : 999_999);
    const sample = await roundTrip(100 + index, "", at, [0n, 2n ** 53n + 1n, 2n ** 64n - 1n]);
    expect(sample).toMatchObject({ at: String(at), numbers: ["0", "9007199254740993", "18446744073709551615"] });
  }
});

test("a row that could not be written whole leaves nothing in the next", () => {
  const broken = () =>
    row.rowOf(() => {
      row.text("begun");
      throw new Error("stopped");
    });
  expect(broken).toThrow("stopped");
  expect(row.rowOf(() => row.text("whole")).toString()).toBe("whole\n");
});

test("a row is not begun within another one", () => {
  const nested = () => row.rowOf(() => row.fields(row.fieldsOf(() => row.text("inner"))));
  expect(nested).toThrow("in the middle of other fields");
  expect(row.rowOf(() => row.text("whole")).toString()).toBe("whole\n");
});

test("bytes that were handed out stay as they are", () => {
  const rows = Array.from({ length: 2000 }, (_, index) => row.rowOf(() => row.text(String(index).repeat(100))));
  for (const [index, bytes] of rows.entries()) expect(bytes.toString()).toBe(`${String(index).repeat(100)}\n`);
});

test("a whole-second time outside 1970 to 2106 is clamped", async () => {
  expect((await roundTrip(200, "", -5_000_000n, []))?.second).toBe(0);
  expect((await roundTrip(201, "", 10n ** 16n, []))?.second).toBe(4_294_967_295);
  expect((await roundTrip(202, "", 1_999_999n, []))?.second).toBe(1);
});
