import type { PriceBook } from "../costs/price-book.js";
import type { Price } from "../costs/price.js";
import type { Parameters } from "../engine/parameters.js";

/**
 * Usage by call and model with the prices that count: `prompt_price`, `completion_price`, `cache_read_price` and
 * `cache_creation_price` per token, 0 without a price. `usage` is SQL of a source with these columns, `us` and `model`
 * among them, all within the range.
 *
 * Prices are numbered. A model has one price in most ranges, which its name leads to; only changes within the range are
 * joined by time.
 */
export function pricedUsage(
  p: Parameters,
  usage: string,
  columns: readonly string[],
  book: PriceBook,
  { start, end }: { start: bigint; end: bigint },
): string {
  // Position 1 stands for no price.
  const prices: Array<Price | undefined> = [undefined];
  const models: string[] = [];
  const positions: number[] = [];
  const changes = { position: [] as number[], since: [] as bigint[], next: [] as number[] };
  for (const model of book.models()) {
    const [first, ...later] = book.segments(model, start, end);
    if (first === undefined) continue;
    models.push(model);
    const position = prices.push(first.price);
    positions.push(position);
    for (const { from, price } of later) {
      changes.position.push(position);
      changes.since.push(from);
      changes.next.push(prices.push(price));
    }
  }
  const list = (type: string, values: ReadonlyArray<string | number | bigint>) => {
    const [only, ...more] = p.lists(type, values);
    return more.length === 0 ? (only ?? "[]") : `arrayConcat(${[only, ...more].join(", ")})`;
  };
  const ofModel =
    models.length === 0
      ? "toUInt32(1)"
      : `transform(model, ${list("String", models)}, ${list("UInt32", positions)}, toUInt32(1))`;
  const numbered = `SELECT ${columns.join(", ")}, ${ofModel} AS model_price FROM ${usage}`;
  const chosen =
    changes.position.length === 0
      ? `SELECT *, model_price AS price FROM (${numbered})`
      : `SELECT *, if(next_price = 0, model_price, next_price) AS price FROM (${numbered}) AS numbered
         ASOF LEFT JOIN (
           SELECT change.1 AS changed_price, change.2 AS since, change.3 AS next_price FROM (
             SELECT arrayJoin(arrayZip(${list("UInt32", changes.position)}, ${list("Int64", changes.since)}, ${list("UInt32", changes.next)})) AS change)
         ) AS changes ON model_price = changed_price AND us >= since`;
  const costs = Object.entries(priceColumns).map(
    ([column, name]) =>
      `arrayElement(${list(
        "Float64",
        prices.map((price) => price?.[name] ?? 0),
      )}, price) AS ${column}`,
  );
  return `(SELECT *, ${costs.join(", ")} FROM (${chosen}))`;
}

const priceColumns = {
  prompt_price: "prompt_token_cost",
  completion_price: "completion_token_cost",
  cache_read_price: "cache_read_input_token_cost",
  cache_creation_price: "cache_creation_input_token_cost",
} as const;
