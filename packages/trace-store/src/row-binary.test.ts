import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../test/store.js";
import {
  integerArrayField,
  nullableField,
  secondField,
  textArrayField,
  textField,
  textMapEntries,
  timeField,
} from "./tab-separated.js";

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

async function roundTrip(id: number, text: string, at: bigint, numbers: bigint[]): Promise<Sample | undefined> {
  const row = [
    String(id),
    textField(text),
    textField(text),
    textArrayField([text, "", text]),
    integerArrayField(numbers),
    `{${textMapEntries([[text, text]])}}`,
    nullableField(id % 2 === 0 ? text : undefined, textField),
    timeField(at),
    secondField(at),
  ];
  const columns = ["id", "text", "low", "list", "numbers", "pairs", "maybe", "at", "second"];
  await db.engine.insert("sample", columns, `${row.join("\t")}\n`);
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

test("a whole-second time outside 1970 to 2106 is clamped", async () => {
  expect((await roundTrip(200, "", -5_000_000n, []))?.second).toBe(0);
  expect((await roundTrip(201, "", 10n ** 16n, []))?.second).toBe(4_294_967_295);
  expect((await roundTrip(202, "", 1_999_999n, []))?.second).toBe(1);
});
