import { signedPathOf } from "../../src/wandb/signed-urls.js";
import type { Grant } from "../../src/wandb/signed-urls.js";
import type { routes } from "../../src/boot/routes.js";
import type { TestService } from "../test-service.js";
import { fileName, idsOf } from "./route-tenants.js";
import type { RouteTenant } from "./route-tenants.js";

/** A request that a route responds to with success, or with the same error always. */
export interface RouteSample {
  /** What it does; of GraphQL the field that it begins with. */
  name: string;
  method: "GET" | "POST" | "PUT";
  path: string;
  /** JSON, or text. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** What its key needs; absent where a key is not asked for. */
  right?: "read" | "write" | "admin";
  /** The status of the route's response, where that is not a success. */
  status?: number;
  /** What it shows of a tenant. */
  shows?: true;
  /** It can be sent once. */
  deletes?: true;
}

type Samples = (tenant: RouteTenant, service: TestService) => RouteSample[];

const asBrowser = { accept: "text/html,*/*;q=0.8" };

/** Samples of every route that the spec does not describe. The suites of this folder send them. */
export const routeSamples: Record<keyof typeof routes, Samples> = {
  home: () => [{ name: "home", method: "GET", path: "/" }],
  live: () => [{ name: "live", method: "GET", path: "/live" }],
  docs: () => [
    { name: "a page", method: "GET", path: "/docs/page" },
    { name: "the first page", method: "GET", path: "/docs" },
  ],
  packages: () => [
    { name: "a package", method: "GET", path: "/packages/client.tgz" },
    { name: "the list", method: "GET", path: "/packages/" },
    { name: "the list for programs", method: "GET", path: "/packages/index.json" },
    { name: "the list without its slash", method: "GET", path: "/packages" },
  ],
  console: ({ entity, project }) => [
    { name: "a page", method: "GET", path: `/console/${entity}/${project}/calls` },
    { name: "the first page", method: "GET", path: "/console" },
  ],
  weaveLinks: ({ entity, project }) => [
    { name: "a project", method: "GET", path: `/${entity}/${project}/weave` },
    { name: "an object", method: "GET", path: `/${entity}/${project}/weave/objects/questions/versions/latest` },
    { name: "a call", method: "GET", path: `/${entity}/${project}/r/call/0197a1b2` },
  ],
  wandbLinks: ({ entity, project }) => [
    { name: "a project", method: "GET", path: `/${entity}/${project}`, headers: asBrowser },
    { name: "a run", method: "GET", path: `/${entity}/${project}/runs/x1?nw=nwuser`, headers: asBrowser },
  ],
  metrics: () => [{ name: "metrics", method: "GET", path: "/metrics", right: "admin" }],
  graphql: (tenant) => [...queries(tenant), ...mutations(tenant)],
  fileStream: ({ entity, project, run }) => [
    {
      name: "history and summary",
      method: "POST",
      path: `/files/${entity}/${project}/${run}/file_stream`,
      right: "write",
      body: {
        files: {
          "wandb-history.jsonl": { offset: 1, content: ['{"loss":1}', '{"loss":0.5}'] },
          "wandb-summary.json": { offset: 0, content: ['{"loss":0.5}'] },
          "output.log": { offset: 0, content: ["hello"] },
        },
        complete: false,
        exitcode: 0,
        dropped: 0,
      },
    },
  ],
  signedUrl: (tenant, { services: { control } }) => {
    const project = { project_id: `${tenant.entity}/${tenant.project}` };
    const path = (grant: Grant) => signedPathOf(control.urlSignatures, tenant.keyId, grant);
    const hex = Buffer.from(tenant.md5, "base64").toString("hex");
    const content = `only-for-its-owner ${tenant.collection}`;
    const ofVersion = { ...project, version_id: tenant.version };
    return [
      { name: "a file", method: "GET", path: path({ kind: "file", ...ofVersion, path: fileName }), shows: true },
      { name: "a list of files", method: "GET", path: path({ kind: "version-manifest", ...ofVersion }) },
      { name: "content", method: "PUT", path: path({ kind: "content", ...project, md5: hex }), body: content },
      {
        name: "a manifest",
        method: "PUT",
        path: path({ kind: "manifest", ...project, draft_id: tenant.draft }),
        body: JSON.stringify({ contents: { [fileName]: { digest: tenant.md5, size: content.length } } }),
      },
    ];
  },
  adapter: () =>
    [
      "api/models/a.b/c.d/revision/main",
      "api/models/a.b/c.d/tree/main",
      "a.b/c.d/resolve/main/adapter_config.json",
    ].map((path) => ({ name: `unsigned ${path}`, method: "GET", path: `/v1/adapters/${path}`, status: 403 })),
  otlpLogs: () => [exported("/v1/logs"), exported("/otel/v1/logs"), exported("/traces/agents/otel/v1/logs")],
  otlpMetrics: () => [exported("/v1/metrics"), exported("/otel/v1/metrics")],
};

const exported = (path: string): RouteSample => ({
  name: path,
  method: "POST",
  path,
  right: "write",
  status: 404,
  body: { resourceLogs: [] },
});

const graphql = (
  name: string,
  right: "read" | "write",
  query: string,
  variables: object,
  more: Partial<RouteSample> = {},
): RouteSample => ({ name, method: "POST", path: "/graphql", right, body: { query, variables }, ...more });

const artifactFields = `id description metadata size fileCount digest aliases { alias } artifactType { name }
  currentManifest { file { directUrl } } files(first: 10) { totalCount pageInfo { endCursor hasNextPage }
  edges { node { name md5 directUrl } } } named: files(names: ["${fileName}"]) { edges { node { url } } }`;
const runFields = "id name notes config summaryMetrics historyLineCount historyTail history(minStep: 0, maxStep: 10)";

function queries(tenant: RouteTenant): RouteSample[] {
  const { entity, project, run, collection } = tenant;
  const names = { entity, project, run, collection, artifact: `${collection}:best` };
  const declared = "$entity: String, $project: String, $run: String, $collection: String, $artifact: String";
  const found = (field: string) => `query (${declared}) { ${field}(entityName: $entity, name: $project) {
    id name run(name: $run) { ${runFields} }
    artifact(name: $artifact) { ${artifactFields} }
    artifactCollectionMembership(name: $artifact) { versionIndex artifact { id description } }
    artifactType(name: "dataset") { artifactCollection(name: $collection) { id } }
    artifactCollection(name: $collection) { name artifactMembership(aliasName: "best") { artifact { metadata } }
      artifacts(first: 5) { pageInfo { endCursor } edges { version node { ${artifactFields} } } } } } }`;
  return [
    graphql("project", "read", found("project"), names, { shows: true }),
    graphql("model", "read", found("model"), names, { shows: true }),
    graphql(
      "artifact",
      "read",
      `query ($id: ID!) { artifact(id: $id) { ${artifactFields} } }`,
      {
        id: idsOf(tenant).version,
      },
      { shows: true },
    ),
    graphql("viewer", "read", "{ viewer { id username defaultEntity { name } teams { edges { id } } } }", {}),
    graphql("serverInfo", "read", "{ serverInfo { features { name } cliVersionInfo } }", {}),
    graphql("entity", "read", "query ($name: String) { entity(name: $name) { name organization { id } } }", {
      name: entity,
    }),
    graphql("__type", "read", '{ TypeInfo: __type(name: "T") { fields { name } inputFields { name } } }', {}),
  ];
}

function mutations(tenant: RouteTenant): RouteSample[] {
  const { entity: entityName, project: projectName, run, collection, md5, missingMd5 } = tenant;
  const { version, draft, manifest } = idsOf(tenant);
  const mutation = (
    field: string,
    selected: string,
    input: object,
    { right = "write", ...more }: Partial<RouteSample> & { right?: "read" | "write" } = {},
  ) => graphql(field, right, `mutation ($input: I!) { ${field}(input: $input) { ${selected} } }`, { input }, more);
  const aliases = [{ artifactCollectionName: collection, alias: "good" }];
  return [
    mutation("upsertModel", "inserted model { name }", { entityName, name: projectName }),
    mutation("upsertBucket", `inserted bucket { ${runFields} }`, {
      entityName,
      modelName: projectName,
      name: run,
      displayName: "first",
      tags: ["a"],
    }),
    mutation("createRunFiles", "runID files { name }", { entityName, projectName, runName: run, files: ["a.txt"] }),
    mutation("createArtifact", "artifact { id state artifactSequence { latestArtifact { id } } }", {
      entityName,
      projectName,
      artifactTypeName: "dataset",
      artifactCollectionName: collection,
      digest: "0".repeat(32),
      aliases: [{ artifactCollectionName: collection, alias: "made" }],
      metadata: "{}",
    }),
    mutation("createArtifactManifest", "artifactManifest { id file { uploadUrl } }", {
      artifactID: draft,
      type: "FULL",
    }),
    mutation("updateArtifactManifest", "artifactManifest { id file { uploadUrl } }", { artifactManifestID: manifest }),
    mutation("createArtifactFiles", "files { edges { node { name storagePath uploadUrl artifact { id } } } }", {
      artifactFiles: [
        { artifactID: draft, name: fileName, md5 },
        { artifactID: draft, name: "more.jsonl", md5: missingMd5 },
      ],
    }),
    mutation("useArtifact", "artifact { id description }", { artifactID: version }, { right: "read", shows: true }),
    mutation("updateArtifact", "artifact { id description }", {
      artifactID: version,
      description: "only-for-its-owner",
    }),
    mutation("addAliases", "success", { artifactID: version, aliases }),
    mutation("deleteAliases", "success", { artifactID: version, aliases }, { deletes: true }),
    mutation("commitArtifact", "artifact { id digest }", { artifactID: draft }, { deletes: true }),
    mutation("deleteArtifact", "artifact { id }", { artifactID: version }, { deletes: true }),
  ];
}

/** The sample as arguments of `fetch`. */
export function requestOf(
  { method, path, body, headers: own }: RouteSample,
  key?: string,
  headers: Record<string, string> = {},
): [url: string, init: RequestInit] {
  const sent =
    typeof body === "string" || body instanceof Uint8Array || body === undefined ? body : JSON.stringify(body);
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const init: RequestInit = { method, headers: { ...authorization, ...own, ...headers }, redirect: "manual" };
  return [
    `http://in-process${path}`,
    sent === undefined ? init : { ...init, body: sent as NonNullable<RequestInit["body"]> },
  ];
}

/** All samples, with the route of each. */
export function allSamples(
  tenant: RouteTenant,
  service: TestService,
): (RouteSample & { route: keyof typeof routes })[] {
  return Object.entries(routeSamples).flatMap(([route, samples]) =>
    samples(tenant, service).map((sample) => ({ ...sample, route: route as keyof typeof routes })),
  );
}
