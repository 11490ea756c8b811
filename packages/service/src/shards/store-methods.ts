import type { TraceStore } from "@heddle/trace-store";

/** How a method of the store finds the shard that it is for, and what it returns. */
export interface StoreMethod {
  returns: "value" | "stream";
  /** Whether it can be sent again when its outcome is unknown. */
  isRead: boolean;
  /** Of the arguments. */
  projectOf: (args: readonly unknown[]) => string;
}

// oxlint-disable-next-line typescript/no-explicit-any
type AnyFunction = (...args: any[]) => unknown;
type MethodsOf<Group> = {
  [Name in keyof Group]: Group[Name] extends AnyFunction ? StoreMethod : MethodsOf<Group[Name]>;
};

/** Of several projects at once, or of the process: `sharded-store.ts` has these one by one. */
type SpecialMethods = Pick<
  TraceStore,
  | "ingest"
  | "prepareIngest"
  | "ingestPrepared"
  | "yieldToCommits"
  | "projectCalls"
  | "isNew"
  | "parts"
  | "rebuild"
  | "detachedParts"
  | "brokenParts"
  | "load"
  | "checkWrites"
  | "engineRestarted"
  | "maintain"
  | "close"
  | "refs"
>;

type RoutedStore = Omit<
  TraceStore,
  keyof SpecialMethods | "callTails" | "projectEvents" | "objects" | "files" | "feedback"
> & {
  callTails: Omit<TraceStore["callTails"], "endTails">;
  projectEvents: Omit<TraceStore["projectEvents"], "settled">;
  objects: Omit<TraceStore["objects"], "forget">;
  files: Omit<TraceStore["files"], "blobsInUse" | "exist">;
  feedback: Omit<TraceStore["feedback"], "createBatch">;
};

const ofRequest = ([request]: readonly unknown[]) => (request as { project_id: string }).project_id;
const ofFirst = ([projectId]: readonly unknown[]) => projectId as string;

const read: StoreMethod = { returns: "value", isRead: true, projectOf: ofRequest };
const write: StoreMethod = { returns: "value", isRead: false, projectOf: ofRequest };
const stream: StoreMethod = { returns: "stream", isRead: true, projectOf: ofRequest };
export const readFirst: StoreMethod = { ...read, projectOf: ofFirst };
const writeFirst: StoreMethod = { ...write, projectOf: ofFirst };

/** Every method of a store that is for one project: the compiler names those that are missing. */
export const storeMethods: MethodsOf<RoutedStore> = {
  calls: {
    query: stream,
    read,
    count: read,
    callStats: read,
    callsUsage: read,
    traceUsage: read,
    delete: writeFirst,
    rename: writeFirst,
  },
  callPages: { page: read },
  callTails: { tail: stream },
  aggregates: { aggregate: read, fields: read },
  traces: { outline: read },
  projectEvents: { since: readFirst },
  threads: { query: stream },
  evaluations: { find: read, results: read, summarize: read, compare: read, meanOutput: read },
  objects: {
    create: write,
    read,
    query: read,
    delete: write,
    addTags: write,
    removeTags: write,
    setAliases: write,
    removeAliases: write,
    listTags: readFirst,
    listAliases: readFirst,
  },
  tables: { create: write, createFromDigests: write, update: write, query: stream, stats: read },
  files: { add: write, get: read, find: read, totalSize: readFirst },
  feedback: {
    create: write,
    replace: write,
    purge: write,
    query: read,
    stats: read,
    payloadSchema: read,
    aggregate: read,
  },
  retention: { read: readFirst, update: writeFirst },
  costs: { create: write, query: read, purge: write },
  projectStats: read,
  deleteProject: writeFirst,
  lastChange: readFirst,
};

/** What one replica calls of the shard of another. */
export interface ShardCall {
  returns: "value" | "stream";
  isRead: boolean;
  /** The projects that a call is for; none where it is for all that are there. Of the arguments. */
  projectsOf: (args: readonly unknown[]) => readonly string[];
}

const ofAll: Omit<ShardCall, "isRead"> = { returns: "value", projectsOf: () => [] };
const ofProjects = (projectsOf: (items: never) => readonly string[]): Omit<ShardCall, "isRead"> => ({
  returns: "value",
  projectsOf: ([items]) => [...new Set(projectsOf(items as never))],
});

/** What else another replica may ask of a shard: of several projects that are there, or of all. */
const ofShard = {
  ingest: { ...ofProjects((parts: readonly Part[]) => parts.map(projectOfPart)), isRead: false },
  "feedback.createBatch": {
    ...ofProjects((feedback: readonly { project_id: string }[]) => feedback.map(({ project_id }) => project_id)),
    isRead: false,
  },
  "refs.readTargets": { ...ofAll, isRead: true },
  projectCalls: { ...ofProjects((projectIds: readonly string[]) => projectIds), isRead: true },
  "files.blobsInUse": { ...ofAll, isRead: true },
  "files.exist": { ...ofAll, isRead: true },
  "projectEvents.settled": { ...ofAll, isRead: true },
  brokenParts: { ...ofAll, isRead: true },
  checkWrites: { ...ofAll, isRead: false },
  forgetProject: { ...ofAll, isRead: true },
} satisfies Record<string, ShardCall>;

/** No method of a store: the replica that works on the shard looks up anew where a project is, which was deleted. */
export const forgetProject = "forgetProject";

export type ShardMethod = keyof typeof ofShard;

/** Methods by their names, as `calls.read`. */
export const methodsByName: ReadonlyMap<string, ShardCall> = new Map<string, ShardCall>([
  ...Object.entries(storeMethods).flatMap(([name, entry]: [string, StoreMethod | Record<string, StoreMethod>]) =>
    isMethod(entry)
      ? [[name, ofOne(entry)] as const]
      : Object.entries(entry).map(([inner, method]) => [`${name}.${inner}`, ofOne(method)] as const),
  ),
  ...Object.entries(ofShard),
]);

function ofOne({ projectOf, ...method }: StoreMethod): ShardCall {
  return { ...method, projectsOf: (args) => [projectOf(args)] };
}

function isMethod(entry: StoreMethod | Record<string, StoreMethod>): entry is StoreMethod {
  return typeof entry["projectOf"] === "function";
}

type Part = Parameters<TraceStore["ingest"]>[0][number];

export function projectOfPart(part: Part): string {
  return (part.part === "end" ? part.end : part.start).project_id;
}

/** A method of a store by its name, as `calls.read`. */
export function methodOf(store: TraceStore, name: string): (...args: readonly unknown[]) => unknown {
  let [owner, found]: [unknown, unknown] = [undefined, store];
  for (const part of name.split(".")) [owner, found] = [found, (found as Record<string, unknown>)[part]];
  return (found as (...args: readonly unknown[]) => unknown).bind(owner);
}
