import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isJsonObject } from "@heddle/exact-json";
import { modelName, parseTime } from "@heddle/trace-model";
import type { Price } from "@heddle/trace-store";
import { ConfigError } from "../config/config-error.js";

/** The list that comes with Heddle. */
export const shippedPricesFile = fileURLToPath(new URL("../../prices.json", import.meta.url));

/** A file of prices. Keys are those of `/cost/create`. */
export interface PriceList {
  /** Currency of all prices. */
  unit: string;
  /** Where the prices of a provider come from, by `provider_id`. */
  sources: Readonly<Record<string, PriceSource>>;
  prices: readonly PriceEntry[];
}

interface PriceSource {
  name: string;
  /** Where the provider publishes its prices. */
  pages: readonly string[];
  /** Date for which public lists of prices had these values. */
  as_of: string;
}

interface PriceEntry {
  llm_id: string;
  provider_id?: string;
  /** Without it the price has always been in effect. */
  effective_date?: string;
  prompt_token_cost: number;
  completion_token_cost: number;
  /** Without these, such tokens cost what other prompt tokens cost. */
  cache_read_input_token_cost?: number;
  cache_creation_input_token_cost?: number;
}

/**
 * Prices for projects that have none of their own: the list that comes with Heddle, and those of a file, which replace all
 * of the list for the same model. Throws {@link ConfigError} for a file that is not a list of prices.
 */
export function loadPrices(file: string | undefined): Price[] {
  const shipped = storePrices(readPriceList(shippedPricesFile));
  if (file === undefined) return shipped;
  const own = storePrices(readPriceList(file));
  const replaced = new Set(own.map(({ llm_id }) => modelName(llm_id)));
  return [...shipped.filter(({ llm_id }) => !replaced.has(modelName(llm_id))), ...own];
}

/** Reads and checks a file of prices. */
export function readPriceList(file: string): PriceList {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`the prices in ${file} cannot be read: ${(error as Error).message}`);
  }
  return parsePriceList(text, file);
}

/** Throws {@link ConfigError} that names what is wrong first, and where. */
export function parsePriceList(text: string, file: string): PriceList {
  const refuse = (what: string): never => {
    throw new ConfigError(`${file}: ${what}`);
  };
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (!isJsonObject(list)) return refuse("expected an object with the key prices");
  const { unit = "USD", sources = {}, prices, ...others } = list;
  for (const key of Object.keys(others)) refuse(`there is no key ${key}; known are unit, sources and prices`);
  if (typeof unit !== "string" || unit === "" || unit.length > 16) return refuse("unit must be the name of a currency");
  if (!isJsonObject(sources)) return refuse("sources must be an object by provider_id");
  if (!Array.isArray(prices)) return refuse("prices must be a list");
  const seen = new Set<string>();
  for (const [index, entry] of prices.entries()) {
    const fault = isJsonObject(entry) ? faultOf(entry) : " must be an object";
    if (fault !== undefined) refuse(`prices[${index}]${fault}`);
    const { llm_id, effective_date } = entry as PriceEntry;
    const key = JSON.stringify([llm_id, effective_date]);
    if (seen.has(key)) refuse(`prices[${index}] repeats a price of ${llm_id} with the same effective_date`);
    seen.add(key);
  }
  for (const [provider, source] of Object.entries(sources)) {
    const { name, pages, as_of } = isJsonObject(source) ? source : {};
    const dated = typeof as_of === "string" && parseTime(as_of) !== undefined;
    if (typeof name !== "string" || !Array.isArray(pages) || !dated) {
      refuse(`sources.${provider} needs a name, pages and the date as_of which its prices are`);
    }
  }
  return { unit, sources: sources as PriceList["sources"], prices: prices as PriceEntry[] };
}

/** The list as its file has it: sorted by model and date, a line for each source and price. */
export function formatPriceList({ unit, sources, prices }: PriceList): string {
  const sorted = prices.toSorted(
    (a, b) => order(a.llm_id, b.llm_id) || order(a.effective_date ?? "", b.effective_date ?? ""),
  );
  const sourceLines = Object.entries(sources)
    .toSorted(([a], [b]) => order(a, b))
    .map(([provider, source]) => `    ${JSON.stringify(provider)}: ${JSON.stringify(source)}`);
  return [
    "{",
    `  "unit": ${JSON.stringify(unit)},`,
    '  "sources": {',
    sourceLines.join(",\n"),
    "  },",
    '  "prices": [',
    sorted.map((entry) => `    ${JSON.stringify(inOrder(entry))}`).join(",\n"),
    "  ]",
    "}",
    "",
  ].join("\n");
}

const costNames = [
  "prompt_token_cost",
  "completion_token_cost",
  "cache_read_input_token_cost",
  "cache_creation_input_token_cost",
] as const;
const entryNames = ["llm_id", "provider_id", "effective_date", ...costNames] as const;
const requiredCosts: ReadonlySet<string> = new Set(costNames.slice(0, 2));

/** What is wrong with an entry, to follow its position; undefined for a price. */
function faultOf(entry: Readonly<Record<string, unknown>>): string | undefined {
  const unknown = Object.keys(entry).find((key) => !entryNames.some((name) => name === key));
  if (unknown !== undefined) return ` has no key ${unknown}; known are ${entryNames.join(", ")}`;
  const { llm_id, provider_id = "default", effective_date } = entry;
  if (typeof llm_id !== "string" || llm_id === "" || llm_id.length > 256) {
    return ".llm_id must be the name of a model, of 1 to 256 characters";
  }
  if (typeof provider_id !== "string" || provider_id === "") return ".provider_id must be a text";
  if (effective_date !== undefined && (typeof effective_date !== "string" || parseTime(effective_date) === undefined)) {
    return ".effective_date must be an ISO 8601 date-time";
  }
  for (const name of costNames) {
    const cost = entry[name];
    if (cost === undefined && !requiredCosts.has(name)) continue;
    if (typeof cost !== "number" || !(cost >= 0 && cost <= 1000)) {
      return `.${name} must be a number from 0 to 1000, the price of one token`;
    }
  }
  return undefined;
}

function storePrices({ unit, sources, prices }: PriceList): Price[] {
  return prices.map(({ llm_id, provider_id = "default", effective_date, ...costs }) => {
    const effectiveDate = effective_date === undefined ? 0n : (parseTime(effective_date) ?? 0n);
    const asOf = Object.hasOwn(sources, provider_id) ? sources[provider_id]?.as_of : undefined;
    return {
      llm_id,
      provider_id,
      effective_date: effectiveDate,
      cache_read_input_token_cost: costs.prompt_token_cost,
      cache_creation_input_token_cost: costs.prompt_token_cost,
      ...costs,
      prompt_token_cost_unit: unit,
      completion_token_cost_unit: unit,
      created_at: asOf === undefined ? effectiveDate : (parseTime(asOf) ?? effectiveDate),
      created_by: null,
    };
  });
}

function inOrder(entry: PriceEntry): object {
  return Object.fromEntries(entryNames.flatMap((name) => (entry[name] === undefined ? [] : [[name, entry[name]]])));
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
