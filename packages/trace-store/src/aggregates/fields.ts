import { HeddleError, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import { LRUCache } from "lru-cache";
import { locateSelected, scopeOf } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import type { ReadOptions } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { compileFields, fieldsPrice, planCalls } from "../query/call-query.js";
import type { CallPlan, CallSelector, CallsById } from "../query/call-query.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { Deadline, isTooMuch } from "./deadline.js";
import { everyCall, Findings, mostFields, mostValues, valueCharacters } from "./found-fields.js";
import type { FoundField, FoundRow, Root } from "./found-fields.js";

export interface FieldsRequest extends Pick<CallSelector, "project_id" | "filter" | "query" | "search"> {
  /** List the members of this object; of inputs, output, attributes and summary if absent. */
  under?: string | undefined;
  /** Describe this field alone. */
  path?: string | undefined;
  /** Only members, with `path` only values, that begin so. */
  prefix?: string | undefined;
  /** Calls to look at, at most, the newest ones. */
  sample: number;
}

export interface FoundFields {
  /** Those that most calls have first. */
  fields: FoundField[];
  /** How many calls were looked at. */
  sampled: number;
  /** Whether these are as many as were asked for, or all that match. */
  complete: boolean;
}

const documents = ["inputs", "output", "attributes", "summary"] as const;
/** Engine time of one answer, in seconds. */
const seconds = 0.3;
/** Calls of the first statement where nothing is known of a project, and how many times as many the next one reads. */
const firstBatch = 200;
const growth = 9;
/** The share of the time that a first statement may be expected to take. */
const firstShare = 0.5;

/**
 * Finds out what calls hold, by the newest ones that match. It never takes long: what is not looked at in time is left out.
 * Throws as queries do, and `unprocessable` for paths that calls do not have.
 */
export async function findFields(
  context: FieldsContext,
  request: FieldsRequest,
  options: ReadOptions = {},
): Promise<FoundFields> {
  const roots = rootsOf(request);
  const plan = planCalls(request, { under: fieldsPrice(roots.map(({ field }) => field)) });
  const deadline = new Deadline(seconds);
  const byId = await locateSelected(context, plan, options);
  const found = new Findings(request);
  let complete = byId?.ids.length === 0;
  let before: Place | undefined;
  const known = context.readTimes.of(request.project_id);
  const first =
    known === undefined ? firstBatch : Math.max(firstBatch, Math.floor((firstShare * seconds * 1000) / known));
  for (let size = first; !complete && !deadline.isOver; size *= growth) {
    const limit = Math.min(size, request.sample - found.sampled);
    const began = performance.now();
    const rows = await readBatch(context, { plan, byId, roots, request, before, limit }, { ...options, deadline });
    const all = rows?.find(({ d }) => d === everyCall);
    const read = Number(all?.present ?? 0);
    // What takes a statement besides its calls counts too, so that each of a few of them seems to take longer than each of many.
    context.readTimes.note(request.project_id, (performance.now() - began) / Math.max(1, read));
    if (rows === undefined) break;
    found.add(rows, roots);
    before = all && { us: all.us, id: all.last_id };
    const wasCut = deadline.isOver;
    complete = !wasCut && (read < limit || found.sampled >= request.sample);
  }
  return { fields: await found.fields(context, options), sampled: found.sampled, complete };
}

export interface FieldsContext extends SelectionContext {
  readTimes: ReadTimes;
}

/** How long the calls of projects took, so that the next answer needs one statement where there is time for all. */
export class ReadTimes {
  /** Milliseconds for each call, of the projects that were asked about last. */
  readonly #times = new LRUCache<string, number>({ max: mostProjects });

  of(projectId: string): number | undefined {
    return this.#times.get(projectId);
  }

  note(projectId: string, msPerCall: number): void {
    this.#times.set(projectId, msPerCall);
  }
}

const mostProjects = 1000;

function rootsOf({ under, path }: FieldsRequest): Root[] {
  if (path !== undefined) return [{ field: withLoc(["path"], () => parseCallField(path)), isParent: false }];
  if (under === undefined) return documents.map((name) => ({ field: parseCallField(name), isParent: true }));
  const field = withLoc(["under"], () => parseCallField(under));
  if (field.kind === "json") return [{ field, isParent: true }];
  throw new HeddleError("unprocessable", `nothing is under ${under}; ${documents.join(", ")} have members`, {
    loc: ["under"],
  });
}

/** A call in the order from the newest one back. */
interface Place {
  us: string;
  id: string;
}

interface Batch {
  plan: CallPlan;
  byId: CallsById | undefined;
  roots: readonly Root[];
  request: FieldsRequest;
  before: Place | undefined;
  limit: number;
}

/** Undefined where the time was not enough. */
async function readBatch(
  context: SelectionContext,
  { plan, byId, roots, request, before, limit }: Batch,
  { deadline, signal }: ReadOptions & { deadline: Deadline },
): Promise<FoundRow[] | undefined> {
  const scopeNow = scopeOf(context, plan.project_id);
  const statement = () => {
    const p = new Parameters();
    const scope = scopeNow();
    const fields = roots.map(({ field }) => field);
    const { values, conditions } = compileFields(plan, { scope, p, byId, json: true }, fields);
    const place = before && `(started_at, id) < (${p.time(BigInt(before.us))}, ${p.bind("String", before.id)})`;
    const order = "started_at DESC, id DESC";
    const calls = visibleCalls(scope, p, {
      ...conditions,
      where: [...(conditions.where ?? []), ...(place === undefined ? [] : [place])],
      select: ["started_at", "id", ...values.map((value, index) => `${value} AS root${index}`)],
      orderBy: order,
      limit,
    });
    const sample = `SELECT * FROM (${calls}) ORDER BY ${order} LIMIT 1 BY id LIMIT ${p.bind("UInt32", limit)}`;
    const begins =
      request.prefix === undefined
        ? "1"
        : `startsWith(${request.path === undefined ? "name" : "value"}, ${p.bind("String", request.prefix)})`;
    const most = mostValues(request.path);
    const members = `SELECT started_at, id, arrayJoin(${membersOf(roots)}) AS member, member.1 AS d, member.2 AS name,
      JSONType(member.3) AS type, leftUTF8(if(type = 'String', JSONExtractString(member.3), member.3), ${valueCharacters}) AS value
      FROM (${sample})`;
    const counted = `SELECT d, name, toString(type) AS type, value, count() AS n, min((started_at, id)) AS last
      FROM (${members}) WHERE d = ${everyCall} OR ${begins} GROUP BY d, name, type, value`;
    const sql = `SELECT d, name, groupUniqArray(type) AS types, sum(n) AS present,
        arrayMap(pair -> (pair.1, toString(pair.2), toString(toUnixTimestamp64Micro(pair.3.1)), pair.3.2),
          arraySlice(arraySort(pair -> -toInt64(pair.2), groupArray((value, n, last))), 1, ${most})) AS top,
        toUnixTimestamp64Micro(min(last).1) AS us, min(last).2 AS last_id
      FROM (${counted}) GROUP BY d, name ORDER BY d = ${everyCall} DESC, present DESC, name LIMIT ${mostFields + 1}`;
    return { sql, params: p };
  };
  const settings = { ...deadline.settings, timeout_overflow_mode: "break" as const };
  try {
    return await context.engine.rows<FoundRow>(statement, { signal, settings });
  } catch (error) {
    if (isTooMuch(error)) return undefined;
    throw error;
  }
}

/** SQL of what a call holds, each with the place of its root, its name and its JSON; and one item for the call itself. */
function membersOf(roots: readonly Root[]): string {
  const lists = roots.map(({ field, isParent }, index) => {
    const root = `root${index}`;
    const item = (name: string, json: string) => `tuple(toInt8(${index}), ${name}, ${json})`;
    if (isParent) return `arrayMap(pair -> ${item("pair.1", "pair.2")}, JSONExtractKeysAndValuesRaw(${root}))`;
    const json = field.kind === "json" ? root : `toJSONString(${root})`;
    return `if(ifNull(${json}, '') IN ('', 'null'), [], [${item("''", `assumeNotNull(${json})`)}])`;
  });
  return `arrayConcat([tuple(toInt8(${everyCall}), '', '')], ${lists.join(", ")})`;
}
