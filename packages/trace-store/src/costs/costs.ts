import { HeddleError } from "@heddle/errors";
import { firstCharacters, hasAtMost } from "@heddle/exact-json";
import { newId } from "@heddle/trace-model";
import type { StoreContext } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { purgedIds } from "../query/purge.js";
import { compileRows, planRows } from "../query/row-query.js";
import type { RowColumns, RowQuery } from "../query/row-query.js";
import { StatementSql } from "../query/statement-sql.js";
import { newestRows } from "../schema/read-table.js";
import { PriceBook, pricesByModel } from "./price-book.js";
import type { Price, StoredPrice } from "./price.js";
import { insertPrices, insertTombstones, priceColumns, readPrices, toPrice } from "./rows.js";
import type { PriceRow } from "./rows.js";

/** A price to be set; absent: cache prices 0, USD, provider `default`, from now on. */
export type PriceInput = Pick<Price, "prompt_token_cost" | "completion_token_cost"> &
  Partial<Omit<Price, "llm_id" | "created_at" | "created_by">>;

export interface CostCreate {
  project_id: string;
  /** By llm_id. */
  costs: Readonly<Record<string, PriceInput>>;
  created_by?: string;
}

export interface CostQuery extends RowQuery {
  project_id: string;
}

/** A price with the fields that were asked for. */
export type PriceFields = Partial<Omit<StoredPrice, "created_at" | "created_by">>;

export interface Costs {
  /** Adds prices; resolves to their ids by llm_id, in order. Throws `invalid` with the loc of what cannot be stored. */
  create(request: CostCreate): Promise<Array<[id: string, llm_id: string]>>;
  /** Prices of the project, by default in the order in which they were created. */
  query(request: CostQuery): Promise<PriceFields[]>;
  /** Removes prices of the project by id; unknown ids are ignored. Throws `invalid` for any other condition. */
  purge(request: { project_id: string; query: unknown }): Promise<void>;
  /** What counts for calls of the project now. */
  book(projectId: string, signal?: AbortSignal): Promise<PriceBook>;
}

/** All prices of a project are read for one sum of costs. */
const maxPrices = 10_000;
const maxModelName = 256;
/** Per token. */
const maxTokenCost = 1000;

export const queryColumns: RowColumns = {
  id: { type: "text" },
  llm_id: { type: "text" },
  provider_id: { type: "text" },
  effective_date: { type: "time" },
  prompt_token_cost: { type: "double" },
  completion_token_cost: { type: "double" },
  cache_read_input_token_cost: { type: "double" },
  cache_creation_input_token_cost: { type: "double" },
  prompt_token_cost_unit: { type: "text" },
  completion_token_cost_unit: { type: "text" },
};

/** Prices of models. `defaults` is the list that counts where a project has no price of its own. */
export function openCosts(context: StoreContext, defaults: readonly Price[]): Costs {
  const { engine, writes, clock, now } = context;
  const byModel = pricesByModel(defaults);
  return {
    async create({ project_id, costs, created_by }) {
      const version = clock.next();
      const prices = Object.entries(costs).map(([llmId, input]) => ({
        ...storedPrice(llmId, input, now()),
        created_at: version,
        created_by: created_by ?? null,
      }));
      if (prices.length === 0) return [];
      await checkSpace(context, project_id, prices.length);
      await insertPrices(writes, project_id, prices, version);
      return prices.map(({ id, llm_id }) => [id, llm_id]);
    },

    async query(request) {
      const plan = planRows(request, queryColumns, "prices");
      const sql = new StatementSql(new Parameters());
      const { where, orderBy, page } = compileRows(sql, plan, ["created_at ASC", "id ASC"]);
      const conditions = [`project_id = ${sql.p.bind("String", request.project_id)}`, ...where];
      const statement = `SELECT ${priceColumns} FROM ${newestRows("costs")}
        WHERE ${conditions.join(" AND ")} ORDER BY ${orderBy} ${page}`;
      const rows = await engine.rows<PriceRow>({ sql: statement, params: sql.p });
      const names = plan.fields?.map(({ name }) => name) ?? Object.keys(queryColumns);
      return rows.map((row) => {
        const price: Readonly<Record<string, unknown>> = { ...toPrice(row) };
        return Object.fromEntries(names.map((name) => [name, price[name]]));
      });
    },

    async purge({ project_id, query }) {
      const ids = purgedIds(query);
      const p = new Parameters();
      const sql = `SELECT id FROM ${newestRows("costs")}
        WHERE project_id = ${p.bind("String", project_id)} AND ${p.in("id", "String", ids)}`;
      const present = await writes.rows<{ id: string }>({ sql, params: p });
      if (present.length === 0) return;
      await insertTombstones(
        writes,
        project_id,
        present.map(({ id }) => id),
        clock.next(),
      );
    },

    book: async (projectId, signal) => new PriceBook(projectId, await readPrices(engine, projectId, signal), byModel),
  };
}

async function checkSpace({ writes }: StoreContext, projectId: string, more: number): Promise<void> {
  const p = new Parameters();
  const sql = `SELECT count() AS prices FROM ${newestRows("costs")} WHERE project_id = ${p.bind("String", projectId)}`;
  const [row] = await writes.rows<{ prices: string }>({ sql, params: p });
  if (Number(row?.prices ?? 0) + more <= maxPrices) return;
  throw new HeddleError("invalid", `a project has at most ${maxPrices} prices: purge some that no longer count`, {
    loc: ["costs"],
  });
}

function storedPrice(llmId: string, input: PriceInput, now: bigint): Omit<StoredPrice, "created_at" | "created_by"> {
  if (llmId === "" || !hasAtMost(llmId, maxModelName)) {
    throw new HeddleError("invalid", `the name of a model has 1 to ${maxModelName} characters`, {
      loc: ["costs", firstCharacters(llmId, maxModelName)],
    });
  }
  const cost = (name: keyof PriceInput & `${string}_token_cost`): number => {
    const value = input[name] ?? 0;
    if (value >= 0 && value <= maxTokenCost) return value;
    throw new HeddleError("invalid", `a price is a number from 0 to ${maxTokenCost} for one token`, {
      loc: ["costs", llmId, name],
    });
  };
  return {
    id: newId(),
    llm_id: llmId,
    provider_id: input.provider_id ?? "default",
    effective_date: input.effective_date ?? now,
    prompt_token_cost: cost("prompt_token_cost"),
    completion_token_cost: cost("completion_token_cost"),
    cache_read_input_token_cost: cost("cache_read_input_token_cost"),
    cache_creation_input_token_cost: cost("cache_creation_input_token_cost"),
    prompt_token_cost_unit: input.prompt_token_cost_unit ?? "USD",
    completion_token_cost_unit: input.completion_token_cost_unit ?? "USD",
  };
}
