import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Media {
  schema?: unknown;
  example?: unknown;
  examples?: Record<string, { $ref: string }>;
}
interface Operation {
  operationId: string;
  tags: string[];
  summary?: string;
  description?: string;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
  "x-heddle-aliases"?: string[];
  "x-heddle-extension"?: boolean;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { examples: Record<string, { value: unknown }> };
}

const interfaces = ["tracing", "training"] as const;
const text = (name: string) => readFileSync(new URL(`../dist/${name}.json`, import.meta.url), "utf8");
const parse = (name: string) => JSON.parse(text(name)) as Document;

function operationsOf(document: Document): { route: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
  );
}

// Tag, operationId, method and path of everything that client libraries and users rely on.
const TRACING = `
  Calls | callEnd | POST /call/end
  Calls | callRead | POST /call/read
  Calls | callStart | POST /call/start
  Calls | callUpdate | POST /call/update
  Calls | callStartBatch | POST /call/upsert_batch
  Calls | callsDelete | POST /calls/delete
  Calls | callsQueryStats | POST /calls/query_stats
  Calls | callStats | POST /calls/stats
  Calls | callsQueryStream | POST /calls/stream_query
  Calls | callsUsage | POST /calls/usage
  Calls | traceUsage | POST /trace/usage
  Files | fileContent | POST /file/content
  Files | fileCreate | POST /file/create
  Files | filesStats | POST /files/query_stats
  Objects | aliasesList | GET /aliases
  Objects | objCreate | POST /obj/create
  Objects | objDelete | POST /obj/delete
  Objects | objRead | POST /obj/read
  Objects | objsQuery | POST /objs/query
  Objects | objSetAliases | PUT /objs/{object_id}/aliases
  Objects | objRemoveAliases | POST /objs/{object_id}/aliases/remove
  Objects | objAddTags | PUT /objs/{object_id}/versions/{digest}/tags
  Objects | objRemoveTags | POST /objs/{object_id}/versions/{digest}/tags/remove
  Objects | tagsList | GET /tags
  OpenTelemetry | exportTrace | POST /otel/v1/traces
  Refs | refsReadBatch | POST /refs/read_batch
  Service | getCallerLocation | GET /geolocate
  Service | readRoot | GET /health
  Service | serverInfo | GET /server_info
  Service | projectsInfo | POST /service/projects_info
  Service | readVersion | GET /version
  Tables | tableCreate | POST /table/create
  Tables | tableCreateFromDigests | POST /table/create_from_digests
  Tables | tableQuery | POST /table/query
  Tables | tableQueryStats | POST /table/query_stats
  Tables | tableQueryStatsBatch | POST /table/query_stats_batch
  Tables | tableUpdate | POST /table/update
  Tables | tableQueryStream | POST /table/query_stream`;

const EXTENSIONS = `
  Calls | callsQuery | POST /calls/query
  Complete calls | callsComplete | POST /v2/{entity}/{project}/calls/complete
  Complete calls | callStartV2 | POST /v2/{entity}/{project}/call/start
  Complete calls | callEndV2 | POST /v2/{entity}/{project}/call/end`;

const TRAINING = `
  Health | getHealth | GET /v1/health
  Health | getSystemCheck | GET /v1/system-check`;

const rows = (table: string) => table.trim().split(/\n\s*/).toSorted();
const row = ({ route, operation }: { route: string; operation: Operation }) =>
  `${operation.tags.join()} | ${operation.operationId} | ${route}`;

describe("the tracing document", () => {
  const operations = operationsOf(parse("tracing"));
  const [added, given] = [true, false].map((extension) =>
    operations.filter(({ operation }) => (operation["x-heddle-extension"] ?? false) === extension).map(row),
  );

  it("holds every operation of the interface, and no other", () => {
    expect(given?.toSorted()).toEqual(rows(TRACING));
  });

  it("marks what is added to the interface", () => {
    expect(added?.toSorted()).toEqual(rows(EXTENSIONS));
  });

  it("names the second spellings of paths that client libraries use", () => {
    const aliases = operations.flatMap(({ operation }) => operation["x-heddle-aliases"] ?? []);
    expect(aliases.toSorted()).toEqual([
      "/agents/otel/v1/traces",
      "/files/content",
      "/files/create",
      "/files/stats",
      "/otel/v1/trace",
    ]);
  });
});

it("the training document holds every operation of the interface, and no other", () => {
  expect(operationsOf(parse("training")).map(row).toSorted()).toEqual(rows(TRAINING));
});

describe.each(interfaces)("every operation of the %s document", (name) => {
  const document = parse(name);
  const operations = operationsOf(document);

  it.each(operations.map(({ operation }) => [operation.operationId, operation] as const))(
    "%s is described, shown and says how it can fail",
    (id, { summary, description, requestBody, responses }) => {
      expect(summary).toBeTruthy();
      expect(description).toBeTruthy();
      expect(Object.keys(responses).filter((status) => status.startsWith("4"))).not.toEqual([]);
      expect(document.components.examples).toHaveProperty(`${id}Response`);
      if (requestBody) expect(document.components.examples).toHaveProperty(`${id}Request`);
    },
  );
});

it.each(interfaces)("the %s document refers to nothing outside itself", (name) => {
  const outside = [...text(name).matchAll(/"\$ref": ?"([^"]*)"/g)].filter(([, ref]) => !ref?.startsWith("#/"));
  expect(outside).toEqual([]);
  expect(text(name)).not.toContain('"externalValue"');
});
