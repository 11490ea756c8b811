import { describe, expect, test } from "vitest";
import { Overloaded } from "../http.js";
import type { HttpRequest } from "../http.js";
import { linkPlans } from "../json/plan.js";
import type { RawJson } from "../json/raw-json.js";
import { parseJson } from "./json-body.js";

const [plan] = linkPlans(
  [{ properties: { raw: 1, text: -1, many: 2 }, others: "drop" }, { raw: [] }, { items: -1 }],
  {},
);

/** A request that notes how often its body gives way to others. */
function taker({ room = Infinity } = {}) {
  const turns = { given: 0, counted: 0 };
  const request: Pick<HttpRequest, "giveWay" | "parsed"> = {
    giveWay: async () => void (turns.given += 1),
    parsed: (bytes) => {
      turns.counted += bytes;
      if (turns.counted > room) throw new Overloaded("full");
    },
  };
  return { request: request as HttpRequest, turns };
}

const parse = async (body: string | Uint8Array, { request } = taker()) =>
  await parseJson(request, typeof body === "string" ? Buffer.from(body) : body, plan);

const filler = (piece: string, units: number) => piece.repeat(Math.floor(units / piece.length));
const units = 8_000_000;

describe("a long body gives way to other requests while it is read", () => {
  test.each([
    ["free JSON", `{"raw":[${filler("{},", units)}1]}`],
    ["what is not known", `{"more":[${filler('{"a":1},', units)}1]}`],
    ["values", `{"many":[${filler("[[[]]],", 600_000)}1]}`],
    ["a text", `{"text":"${filler("\\u00e4\\\\", units)}"}`],
    ["a key", `{"${filler('\\"', units)}":1}`],
    ["other alphabets", `{"raw":"${filler("\u65e5\u672c", units)}"}`],
  ])("of %s", async (_what, body) => {
    const { request, turns } = taker();
    const { value } = await parse(body, { request, turns });
    expect(turns.given).toBeGreaterThan(0);
    const { raw, text, many } = value as { raw?: RawJson; text?: string; many?: unknown[] };
    if (raw !== undefined) expect(`{"raw":${raw.text}}` === body).toBe(true);
    if (text !== undefined) expect(text === (JSON.parse(body) as { text: string }).text).toBe(true);
    expect(many?.length).toBe(body.startsWith('{"many"') ? 85_715 : undefined);
  });

  test("and says what is wrong with it as of a short one", async () => {
    await expect(parse(`{"raw":[${filler("1,", units)}]}`)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/^the body is not JSON: no JSON value at position 8000008$/),
    });
    await expect(parse(`{"many":[\n${filler("1,", 200_000)}]}`)).rejects.toMatchObject({
      message: expect.stringContaining("(line 2, column 200001)"),
    });
    await expect(parse(`{"many":[${filler("1,", units)}1]}`)).rejects.toMatchObject({ status: 413 });
    const broken = Buffer.from(`{"raw":"${filler("\u00e4", units)}"}`);
    await expect(parse(broken.subarray(0, 4_000_001))).rejects.toMatchObject({ status: 400 });
    expect((await parse(`\ufeff{"text":"${filler("a", units)}"}`)).value).toHaveProperty("text");
  });

  test("and ends when there is no memory for what it has become", async () => {
    const full = taker({ room: 1_000_000 });
    await expect(parse(`{"many":[${filler("[],", 900_000)}1]}`, full)).rejects.toBeInstanceOf(Overloaded);
    expect(full.turns.counted).toBeLessThan(3_000_000);
  });
});

test("a short body is read at once", async () => {
  const { request, turns } = taker();
  expect(await parse('{"text":"a"}', { request, turns })).toMatchObject({ value: { text: "a" } });
  expect(turns.given).toBe(0);
});
