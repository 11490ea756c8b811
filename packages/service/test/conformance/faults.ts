import { operations } from "../spec-requests.js";
import type { SpecOperation } from "../spec-requests.js";

type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** One request to a broken server: what was sent, and the server as it should be. */
interface Received {
  url: string;
  init: RequestInit & { headers: Record<string, string> };
  next: Fetch;
}

export interface Fault {
  operation: string;
  what: string;
  /** Name of a check that has to find it. */
  check: string;
  respond: (received: Received) => Promise<Response>;
}

/** A server that is right but for its faults. Each is about one operation. */
export function withFaults(next: Fetch, faults: readonly Fault[]): Fetch {
  const pattern = ({ path, aliases }: SpecOperation) =>
    new RegExp(`^(?:${[path, ...aliases].map((one) => one.replace(/\{[^}]*\}/g, "[^/]+")).join("|")})$`);
  const routes = operations.map((operation) => ({
    path: pattern(operation),
    method: operation.method.toUpperCase(),
    fault: faults.find((fault) => fault.operation === operation.id),
  }));
  return async (input, init) => {
    const { pathname } = new URL(input);
    const candidates = routes.filter(({ path }) => path.test(pathname));
    // A method that no operation of the path has is about all of them.
    const found =
      candidates.find(({ method }) => method === init.method) ?? candidates.find(({ fault }) => fault !== undefined);
    if (found?.fault === undefined) return next(input, init);
    const headers = { ...(init.headers as Record<string, string>) };
    return found.fault.respond({ url: input, init: { ...init, headers }, next });
  };
}

/** Changes the text of a success response. */
function text(change: (body: string, url: string) => string): Fault["respond"] {
  return async ({ url, init, next }) => {
    const response = await next(url, init);
    if (response.status !== 200 || init.method === "HEAD") return response;
    return new Response(change(await response.text(), url), { status: 200, headers: response.headers });
  };
}

/** Changes the JSON of a success response. */
function json(change: (body: Record<string, unknown>) => unknown): Fault["respond"] {
  return text((body) => JSON.stringify(change(JSON.parse(body) as Record<string, unknown>)));
}

/** Changes the lines of a success response. */
function lines(change: (lines: string[], url: string) => string[]): Fault["respond"] {
  return text((body, url) =>
    change(body.split("\n").slice(0, -1), url)
      .map((line) => `${line}\n`)
      .join(""),
  );
}

/** Changes the text of a request. */
function sent(change: (body: string) => string): Fault["respond"] {
  return async ({ url, init, next }) =>
    next(url, typeof init.body === "string" ? { ...init, body: change(init.body) } : init);
}

/** Changes one status into another. */
function status(from: number, to: number, body?: string): Fault["respond"] {
  return async ({ url, init, next }) => {
    const response = await next(url, init);
    if (response.status !== from) return response;
    return new Response(body ?? (await response.text()), { status: to, headers: response.headers });
  };
}

/** Changes the headers of every response. */
function headers(change: (headers: Headers) => void): Fault["respond"] {
  return async ({ url, init, next }) => {
    const response = await next(url, init);
    const changed = new Headers(response.headers);
    change(changed);
    return new Response(await response.text(), { status: response.status, headers: changed });
  };
}

/** Takes requests with other keys, or with none, for those of `apiKey`. */
function trusting(apiKey: string, isTrusted: (authorization: string | undefined) => boolean): Fault["respond"] {
  return async ({ url, init, next }) => {
    if (isTrusted(init.headers["authorization"])) init.headers["authorization"] = `Bearer ${apiKey}`;
    return next(url, init);
  };
}

/** One fault in each of many operations. `otherApiKey` is the key that may not use the projects of the run. */
export function plantedFaults(apiKey: string, otherApiKey: string): Fault[] {
  return [
    { operation: "callsQueryStats", what: "another success status", check: "example", respond: status(200, 202) },
    {
      operation: "objsQuery",
      what: "a required field is missing",
      check: "example",
      respond: text((body) => body.replaceAll('"digest":', '"version":')),
    },
    {
      operation: "tableQueryStats",
      what: "a number is a text",
      check: "example",
      respond: json((body) => ({ ...body, count: String(body["count"]) })),
    },
    {
      operation: "opList",
      what: "a page lacks an item",
      check: "pages",
      respond: lines((all, url) => (/offset=[1-9]/.test(url) ? all.slice(1) : all)),
    },
    {
      operation: "datasetList",
      what: "a page repeats an item",
      check: "pages",
      respond: ({ url, init, next }) =>
        next(
          url.replace(/offset=(\d+)/, (_, at) => `offset=${Math.max(0, at - 1)}`),
          init,
        ),
    },
    {
      operation: "scorerList",
      what: "the limit is ignored",
      check: "pages",
      respond: ({ url, init, next }) => next(url.replace(/limit=\d+/, ""), init),
    },
    {
      operation: "listArtifacts",
      what: "the list ends after its first page",
      check: "pages",
      respond: json((body) => ({ ...body, has_more: false })),
    },
    {
      operation: "callsQuery",
      what: "calls of another project",
      check: "ids of another project",
      respond: sent((body) => body.replace(/(conformance-[0-9a-f]{8})c"/g, '$1b"')),
    },
    {
      operation: "tableQuery",
      what: "no key is needed",
      check: "without a key",
      respond: trusting(apiKey, (authorization) => authorization === undefined),
    },
    {
      operation: "feedbackQuery",
      what: "every key is right",
      check: "with a wrong key",
      respond: trusting(apiKey, (authorization) => authorization?.includes("wwww") === true),
    },
    {
      operation: "scorerDelete",
      what: "keys of other projects are accepted",
      check: "with a key of another project",
      respond: trusting(apiKey, (authorization) => authorization?.includes(otherApiKey) === true),
    },
    {
      operation: "costQuery",
      what: "a 401 does not say how to authenticate",
      check: "without a key",
      respond: headers((all) => all.delete("www-authenticate")),
    },
    {
      operation: "serverInfo",
      what: "a public operation asks for a key",
      check: "without a key",
      respond: async ({ url, init, next }) =>
        init.headers["authorization"] === undefined
          ? Response.json({ reason: "a key is needed" }, { status: 401 })
          : next(url, init),
    },
    {
      operation: "tableQueryStream",
      what: "a line is broken",
      check: "example",
      respond: lines((all) => all.flatMap((line, index) => (index === 0 ? [line.slice(0, 9), line.slice(9)] : [line]))),
    },
    {
      operation: "createChatCompletion",
      what: "the stream ends without [DONE]",
      check: "example as a stream",
      respond: text((body) => body.replace("data: [DONE]\n\n", "")),
    },
    {
      operation: "callStart",
      what: "1.0 becomes 1",
      check: "exact text of start/inputs",
      respond: sent((body) => body.replace(": 1.0,", ": 1,")),
    },
    {
      operation: "tableCreate",
      what: "free JSON is parsed and printed",
      check: "exact text of table/rows/0",
      respond: sent((body) => (body.includes("1e-7") ? JSON.stringify(JSON.parse(body)) : body)),
    },
    {
      operation: "tagsList",
      what: "another media type",
      check: "example",
      respond: headers((all) => all.set("content-type", "text/html")),
    },
    { operation: "aliasesList", what: "405 is hidden", check: "method PATCH", respond: status(405, 404) },
    {
      operation: "evaluationStatus",
      what: "a 405 does not name the methods",
      check: "method PATCH",
      respond: headers((all) => all.delete("allow")),
    },
    {
      operation: "datasetRead",
      what: "HEAD is not possible",
      check: "method HEAD",
      respond: async ({ url, init, next }) =>
        init.method === "HEAD" ? new Response(undefined, { status: 405, headers: { allow: "GET" } }) : next(url, init),
    },
    {
      operation: "callUpdate",
      what: "a required field may be missing",
      check: "body.project_id missing",
      respond: status(422, 200, "{}"),
    },
    {
      operation: "feedbackStats",
      what: "a 422 does not say where",
      check: "body.project_id missing",
      respond: status(422, 422, '{"detail": [{"loc": ["body"], "msg": "wrong", "type": "value_error"}]}'),
    },
    {
      operation: "feedbackAggregate",
      what: "a 422 has the body of other errors",
      check: "body.project_id missing",
      respond: status(422, 422, '{"reason": "wrong"}'),
    },
    {
      operation: "callsScore",
      what: "broken JSON is a defect of the server",
      check: "body that is not JSON",
      respond: status(400, 500),
    },
    {
      operation: "filesStats",
      what: "compressed bodies are not read",
      check: "body compressed with gzip",
      respond: ({ url, init, next }) => {
        delete init.headers["content-encoding"];
        return next(url, init);
      },
    },
    {
      operation: "annotationQueueCreate",
      what: "retry ids are ignored",
      check: "repeated with the same retry id",
      respond: ({ url, init, next }) => {
        delete init.headers["X-Weave-Retry-Id"];
        return next(url, init);
      },
    },
    {
      operation: "datasetDelete",
      what: "it deletes in another project",
      check: "ids of another project",
      respond: ({ url, init, next }) => next(url.replace(/(conformance-[0-9a-f]{8})d\//, "$1b/"), init),
    },
    {
      operation: "exportTrace",
      what: "refused spans are not reported",
      check: "OTLP, one of two spans refused",
      respond: text((body) => (body.startsWith("{") ? "{}" : body)),
    },
    {
      operation: "fileCreate",
      what: "the alias does not exist",
      check: "path /files/create",
      respond: async ({ url, init, next }) =>
        url.endsWith("/files/create") ? Response.json({ reason: "no such path" }, { status: 404 }) : next(url, init),
    },
    {
      operation: "annotationQueueRead",
      what: "what is missing is not an error",
      check: "unknown ids",
      respond: status(404, 200, "null"),
    },
    {
      operation: "evalResultsQuery",
      what: "a wrong number of rows",
      check: "story evaluateAModel/compareRuns",
      respond: json((body) => ({ ...body, total_rows: Number(body["total_rows"]) + 1 })),
    },
  ];
}

/** Changes every call, object or other item of a success response, be it a body, a list in it, or lines. */
const rewritten = (pattern: RegExp, to: string) => text((body) => body.replaceAll(pattern, to));
const withoutMicroseconds = rewritten(/(\.\d{3})\d{3}(Z|\+00:00)/g, "$1000$2");
const roundedIntegers = rewritten(/12345678901234567890/g, "12345678901234567000");
/** Takes a member out of a request. */
const ignoring = (name: string) =>
  sent((body) => JSON.stringify({ ...(JSON.parse(body) as object), [name]: undefined }));
const ignoringParameter =
  (name: string): Fault["respond"] =>
  ({ url, init, next }) =>
    next(url.replace(new RegExp(`([?&])${name}=[^&]*`), "$1"), init);
/** Deletes something that nothing has instead, and says that it is gone. */
const deletingNothing =
  (name: RegExp): Fault["respond"] =>
  async ({ url, init, next }) => {
    const response = await next(init.method === "DELETE" ? url.replace(name, "$1nothing") : url, init);
    if (init.method !== "DELETE" || response.status !== 404) return response;
    return Response.json({ num_deleted: 1 });
  };

/** Faults of what is read, selected, sorted, streamed and deleted, again one in each of many operations. */
export function faultsOfReading(): Fault[] {
  return [
    {
      operation: "callRead",
      what: "microseconds are cut",
      check: "exact times of what is stored",
      respond: withoutMicroseconds,
    },
    {
      operation: "callStart",
      what: "microseconds are cut",
      check: "exact time of start/started_at",
      respond: sent((body) => body.replaceAll(/(\.\d{3})\d{3}Z/g, "$1Z")),
    },
    {
      operation: "callsComplete",
      what: "microseconds are cut",
      check: "exact time of batch/0/started_at",
      respond: sent((body) => body.replaceAll(/(\.\d{3})\d{3}Z/g, "$1Z")),
    },
    {
      operation: "callsQueryStream",
      what: "large integers are rounded when they are read",
      check: "exact text of what is stored",
      respond: roundedIntegers,
    },
    {
      operation: "annotationQueueItemsQuery",
      what: "the order is ignored",
      check: "sorted by call_started_at",
      respond: ignoring("sort_by"),
    },
    {
      operation: "feedbackQuery",
      what: "1.0 becomes 1 when it is read",
      check: "exact text of what is stored",
      respond: rewritten(/("float": ?)1\.0/g, "$11"),
    },
    {
      operation: "callsQuery",
      what: "the filter is ignored",
      check: "filter call_ids of id",
      respond: ignoring("filter"),
    },
    { operation: "callsPage", what: "the query is ignored", check: "query $eq of id", respond: ignoring("query") },
    {
      operation: "callsQueryStats",
      what: "the filter is ignored",
      check: "filter call_ids of id",
      respond: ignoring("filter"),
    },
    {
      operation: "objsQuery",
      what: "the order is ignored",
      check: "sorted by object_id",
      respond: ignoring("sort_by"),
    },
    {
      operation: "costQuery",
      what: "the direction is ignored",
      check: "sorted by llm_id",
      respond: sent((body) => body.replace('"desc"', '"asc"')),
    },
    {
      operation: "tableQueryStream",
      what: "rows of other digests",
      check: "filter row_digests of digest",
      respond: ignoring("filter"),
    },
    {
      operation: "threadsQueryStream",
      what: "the direction is turned round",
      check: "sorted by thread_id",
      respond: sent((body) => body.replace(/"(asc|desc)"/, (_, found) => (found === "asc" ? '"desc"' : '"asc"'))),
    },
    {
      operation: "annotationQueuesQueryStream",
      what: "the name is ignored",
      check: "name of name",
      respond: ignoring("name"),
    },
    {
      operation: "tableQuery",
      what: "large integers are rounded when they are read",
      check: "exact text of what is stored",
      respond: roundedIntegers,
    },
    {
      operation: "listArtifacts",
      what: "the type is ignored",
      check: "type of type",
      respond: ignoringParameter("type"),
    },
    {
      operation: "evaluationRunList",
      what: "the ids are ignored",
      check: "evaluation_run_ids of evaluation_run_id",
      respond: ignoringParameter("evaluation_run_ids"),
    },
    {
      operation: "createChatCompletion",
      what: "no chunk says how a choice ended",
      check: "end of each streamed choice",
      respond: rewritten(/"finish_reason":"\w+"/g, '"finish_reason":null'),
    },
    {
      operation: "datasetDelete",
      what: "nothing is deleted",
      check: "example",
      respond: deletingNothing(/(\/datasets\/)[^/?]+/),
    },
    {
      operation: "scoreDelete",
      what: "nothing is deleted",
      check: "example",
      respond: deletingNothing(/(score_ids=)[^&]+/),
    },
  ];
}
