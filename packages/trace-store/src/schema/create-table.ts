import { schema } from "./schema.js";
import type { TableName } from "./schema.js";
import type { TableFacts } from "./table-facts.js";

/** The DDL that creates a table where it is missing, with the macros that `ddl` fills. */
export function createTable(name: TableName): string {
  const facts: TableFacts = schema[name];
  const clauses = [
    `CREATE TABLE IF NOT EXISTS {DB}.${name} {OC} (\n${facts.columns}\n)`,
    `ENGINE={R}${facts.engine}${engineArguments(facts)}`,
    ...(facts.partitionBy === undefined ? [] : [`PARTITION BY ${facts.partitionBy}`]),
    `ORDER BY ${keyOf(facts)}`,
    ...(facts.ttlColumn === undefined ? [] : [`TTL ${facts.ttlColumn}`]),
  ];
  const settings = settingsOf(facts);
  if (settings.length > 0) clauses.push(`SETTINGS ${settings.join(", ")}`);
  return clauses.join(" ");
}

function keyOf({ orderBy }: TableFacts): string {
  return orderBy.length === 1 ? orderBy.join() : `(${orderBy.join(", ")})`;
}

function engineArguments({ versionColumn, deletedColumn }: TableFacts): string {
  if (versionColumn === null) return "";
  return `(${deletedColumn === undefined ? versionColumn : `${versionColumn}, ${deletedColumn}`})`;
}

function settingsOf({ indexGranularity, cleanedUp, durable }: TableFacts): string[] {
  return [
    ...(indexGranularity === undefined ? [] : [`index_granularity=${indexGranularity}`]),
    ...(cleanedUp === true ? ["allow_experimental_replacing_merge_with_cleanup=1"] : []),
    ...(durable ? ["{DUR}"] : []),
  ];
}
