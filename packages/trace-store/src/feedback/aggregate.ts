import type { ApiSchemas } from "../api-schemas.js";
import type { StoreContext } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import { bucketsBetween } from "../stats/buckets.js";
import { checkRange, inRange } from "./range.js";
import type { FeedbackAggregateRequest } from "./requests.js";

type AggregateBucket = ApiSchemas["FeedbackAggregateBucket"];
type Group = NonNullable<FeedbackAggregateRequest["group_by"]>[number];

export interface FeedbackAggregate {
  /** Seconds. */
  granularity: number;
  buckets: AggregateBucket[];
}

/** The name of the object or op that a ref is a version of; '' for other texts. */
const nameIn = (ref: string): string =>
  `if(splitByChar('/', ${ref})[6] IN ('object', 'op'), decodeURLComponent(splitByChar(':', splitByChar('/', ${ref})[7])[1]), '')`;

const groups: Readonly<Record<Group, string>> = {
  scorer_id: nameIn("runnable_ref"),
  span_agent_name: "toString(span_agent_name)",
  span_agent_version: "toString(span_agent_version)",
  span_status_code: "toString(span_status_code)",
};

const spanType = "multiIf(span_trace_id != '', 'agent_turn', span_conversation_id != '', 'agent_conversation', '')";
const tags = "JSONExtract(scorer_tags, 'Array(String)')";
const ratings = "JSONExtract(scorer_ratings, 'Map(String, Float64)')";

interface Row {
  bucket: string;
  total: string;
  scored: string;
  tags: [string[], string[]];
  ratings: [string[], string[], number[]];
  [group: `g${number}`]: string;
}

/** Tags and ratings per bucket of time and group; buckets and groups without feedback are left out. */
export async function aggregateFeedback(
  { engine, now }: StoreContext,
  request: FeedbackAggregateRequest,
  signal?: AbortSignal,
): Promise<FeedbackAggregate> {
  const selection = { ...request, end: request.end ?? now() };
  checkRange(selection);
  const buckets = bucketsBetween(request.start, selection.end, "UTC", request.time_bucket_seconds);
  const groupBy = [...new Set(request.group_by)];
  const p = new Parameters();
  const keys = groupBy.map((name, index) => `${groups[name]} AS g${index}`);
  const inner = `SELECT toUnixTimestamp64Micro(created_at) AS us, ${tags} AS tag_list, ${ratings} AS rating_map${keys.map((key) => `, ${key}`).join("")}
    FROM ${newestRows("feedback")} WHERE ${[inRange(p, selection), ...conditions(p, request)].join(" AND ")}`;
  const names = groupBy.map((_, index) => `g${index}`);
  const sql = `SELECT ${[`${buckets.bucketOf(p, "us")} AS bucket`, ...names].join(", ")}, count() AS total,
      countIf(notEmpty(tag_list) OR notEmpty(rating_map)) AS scored,
      sumMap(arrayDistinct(tag_list), arrayMap(tag -> toUInt64(1), arrayDistinct(tag_list))) AS tags,
      sumMap(mapKeys(rating_map), arrayMap(name -> toUInt64(1), mapKeys(rating_map)), mapValues(rating_map)) AS ratings
    FROM (${inner}) GROUP BY ${["bucket", ...names].join(", ")} ORDER BY ${["toInt64(bucket)", ...names].join(", ")}`;
  const rows = await engine.rows<Row>({ sql, params: p }, { signal });
  return { granularity: buckets.granularity, buckets: rows.map((row) => toBucket(row, groupBy)) };
}

function conditions(p: Parameters, request: FeedbackAggregateRequest): string[] {
  const found: string[] = [];
  const oneOf = (expression: string, list: readonly string[] | undefined) => {
    if (list !== undefined && list.length > 0) found.push(p.in(expression, "String", list));
  };
  oneOf("type", request.feedback_types);
  oneOf(nameIn("trigger_ref"), request.monitor_ids);
  oneOf(nameIn("runnable_ref"), request.scorer_ids);
  oneOf("span_agent_name", request.span_agent_names);
  oneOf(spanType, request.span_types);
  const { tags: wanted = [], rating_min: least, rating_max: most } = request;
  if (wanted.length > 0) found.push(`arrayExists(tag -> ${p.in("tag", "String", wanted)}, ${tags})`);
  if (least !== undefined || most !== undefined) {
    const bounds = [
      ...(least === undefined ? [] : [`rating >= ${p.bind("Float64", least)}`]),
      ...(most === undefined ? [] : [`rating <= ${p.bind("Float64", most)}`]),
    ];
    found.push(`arrayExists(rating -> ${bounds.join(" AND ")}, mapValues(${ratings}))`);
  }
  return found;
}

function toBucket(row: Row, groupBy: readonly Group[]): AggregateBucket {
  const [tagNames, tagCounts] = row.tags;
  const [ratingNames, ratingCounts, ratingSums] = row.ratings;
  return {
    time_bucket_start_ms: Number(BigInt(row.bucket) / 1000n),
    group: Object.fromEntries(groupBy.map((name, index) => [name, row[`g${index}`] ?? ""])),
    total_count: Number(row.total),
    scored_count: Number(row.scored),
    tag_counts: numbersBy(tagNames, tagCounts),
    rating_counts: numbersBy(ratingNames, ratingCounts),
    rating_sums: numbersBy(ratingNames, ratingSums),
  };
}

function numbersBy(names: readonly string[], values: ReadonlyArray<string | number>): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, Number(values[index] ?? 0)]));
}
