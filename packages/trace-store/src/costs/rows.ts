import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import { newestRows } from "../schema/read-table.js";
import type { StoredPrice } from "./price.js";

const columns = [
  "project_id",
  "id",
  "llm_id",
  "provider_id",
  "effective_date",
  "prompt_token_cost",
  "completion_token_cost",
  "cache_read_input_token_cost",
  "cache_creation_input_token_cost",
  "prompt_token_cost_unit",
  "completion_token_cost_unit",
  "created_at",
  "created_by",
  "deleted",
  "version",
] as const;

const tombstoneColumns = ["project_id", "id", "deleted", "version"] as const;

export async function insertPrices(
  engine: Engine,
  projectId: string,
  prices: readonly StoredPrice[],
  version: bigint,
): Promise<void> {
  const writer = new RowWriter();
  const rows = prices.map((price) =>
    writer.rowOf(() => {
      for (const text of [projectId, price.id, price.llm_id, price.provider_id]) writer.text(text);
      writer.time(price.effective_date);
      writer.float(price.prompt_token_cost);
      writer.float(price.completion_token_cost);
      writer.float(price.cache_read_input_token_cost);
      writer.float(price.cache_creation_input_token_cost);
      writer.text(price.prompt_token_cost_unit);
      writer.text(price.completion_token_cost_unit);
      writer.time(price.created_at);
      writer.text(price.created_by ?? "");
      writer.integer(0);
      writer.integer(version);
    }),
  );
  await engine.insert("costs", columns, rows);
}

/** Removes prices by rows that replace them. */
export async function insertTombstones(
  engine: Engine,
  projectId: string,
  ids: readonly string[],
  version: bigint,
): Promise<void> {
  const writer = new RowWriter();
  const rows = ids.map((id) =>
    writer.rowOf(() => {
      writer.text(projectId);
      writer.text(id);
      writer.integer(1);
      writer.integer(version);
    }),
  );
  await engine.insert("costs", tombstoneColumns, rows);
}

/** Times come as microseconds since 1970, in columns of their own. */
export const priceColumns = columns
  .slice(1, -2)
  .map((name) =>
    name === "effective_date" || name === "created_at" ? `toUnixTimestamp64Micro(${name}) AS ${name}_us` : name,
  )
  .join(", ");

export type PriceRow = Omit<StoredPrice, "effective_date" | "created_at" | "created_by"> & {
  effective_date_us: string;
  created_at_us: string;
  created_by: string;
};

export function toPrice({ effective_date_us, created_at_us, created_by, ...row }: PriceRow): StoredPrice {
  return {
    ...row,
    effective_date: BigInt(effective_date_us),
    created_at: BigInt(created_at_us),
    created_by: created_by || null,
  };
}

/** All prices of a project. */
export async function readPrices(engine: Engine, projectId: string, signal?: AbortSignal): Promise<StoredPrice[]> {
  const p = new Parameters();
  const sql = `SELECT ${priceColumns} FROM ${newestRows("costs")} WHERE project_id = ${p.bind("String", projectId)}`;
  return (await engine.rows<PriceRow>({ sql, params: p }, { signal })).map(toPrice);
}
