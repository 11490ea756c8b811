import { HeddleError } from "@heddle/errors";
import { followRefs } from "@heddle/trace-store";
import type { PreparedWrite, TraceStore } from "@heddle/trace-store";
import { projectIdOf } from "@heddle/trace-model";
import type { ProjectHomes } from "./project-homes.js";
import { ProjectMoved } from "./shard-store.js";
import type { ShardStore } from "./shard-store.js";
import { projectOfPart, readFirst, storeMethods } from "./store-methods.js";
import type { ShardMethod, StoreMethod } from "./store-methods.js";

type Part = Parameters<TraceStore["ingest"]>[0][number];
type Entry = Parameters<TraceStore["refs"]["readTargets"]>[0][number];
type ReadTargets = Parameters<TraceStore["refs"]["readTargets"]>[1];

export interface ShardedStores {
  stores: ReadonlyMap<string, ShardStore>;
  homes: ProjectHomes;
}

/** A project moves once at most while a request for it is on its way; each further time is a defect. */
const mostMoves = 3;

/**
 * The store of an installation with several shards: what is for one project goes to the replica that works on its shard, and
 * what is for several to each of theirs at once. What is about an engine is for who opens it, not for who works on stores.
 */
export function shardedStore({ stores, homes }: ShardedStores): TraceStore {
  const storeOf = (shard: string): ShardStore => {
    const store = stores.get(shard);
    if (store === undefined)
      throw new HeddleError("busy", `This replica is not configured for the tracing database ${shard}`);
    return store;
  };
  const all = [...stores.values()];

  async function call(name: string, method: StoreMethod, args: readonly unknown[]): Promise<unknown> {
    const projectId = method.projectOf(args);
    return await untilFound(
      [projectId],
      async () => await storeOf(await homes.of(projectId, method.isRead)).call(name, args),
    );
  }

  async function* stream(name: string, method: StoreMethod, args: readonly unknown[]): AsyncGenerator {
    const projectId = method.projectOf(args);
    for (let moves = 0; ; moves++) {
      try {
        return yield* storeOf(await homes.of(projectId, method.isRead)).stream(name, args);
      } catch (error) {
        if (!(error instanceof ProjectMoved) || moves >= mostMoves) throw error;
        homes.forget(projectId);
      }
    }
  }

  async function untilFound<T>(projectIds: readonly string[], work: () => Promise<T>): Promise<T> {
    for (let moves = 0; ; moves++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ProjectMoved) || moves >= mostMoves) throw error;
        for (const projectId of projectIds) homes.forget(projectId);
      }
    }
  }

  /** Items by their shard, with their positions. */
  async function byShard<Item>(items: readonly Item[], projectOf: (item: Item) => string, isRead: boolean) {
    const found = new Map<string, string>();
    for (const item of items) {
      const projectId = projectOf(item);
      if (!found.has(projectId)) found.set(projectId, await homes.of(projectId, isRead));
    }
    const groups = new Map<string, { items: Item[]; positions: number[] }>();
    for (const [position, item] of items.entries()) {
      const shard = found.get(projectOf(item)) ?? "";
      const group = groups.get(shard) ?? { items: [], positions: [] };
      groups.set(shard, group);
      group.items.push(item);
      group.positions.push(position);
    }
    return [...groups];
  }

  /**
   * Calls a method with the items of each shard, and returns its results with their positions. All of them end: where one
   * fails, what the others have stored stays, and the request fails so that it is sent again.
   */
  async function split<Item>(
    name: ShardMethod,
    items: readonly Item[],
    {
      projectOf,
      isRead = false,
      more = [],
    }: { projectOf: (item: Item) => string; isRead?: boolean; more?: readonly unknown[] },
  ): Promise<{ result: unknown; positions: number[] }[]> {
    const projectIds = [...new Set(items.map(projectOf))];
    return await untilFound(projectIds, async () => {
      const groups = await byShard(items, projectOf, isRead);
      const ended = await Promise.allSettled(
        groups.map(async ([shard, group]) => ({
          result: await storeOf(shard).call(name, [group.items, ...more]),
          positions: group.positions,
        })),
      );
      const failed = ended.find((each) => each.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      return ended.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    });
  }

  async function ofAll<Result>(name: ShardMethod, args: readonly unknown[]): Promise<Result[]> {
    return await Promise.all(all.map(async (store) => (await store.call(name, args)) as Result));
  }

  async function ingest(parts: readonly Part[]) {
    type Rejected = Awaited<ReturnType<TraceStore["ingest"]>>;
    const groups = await split<Part>("ingest", parts, { projectOf: projectOfPart });
    return groups.flatMap(({ result, positions }) =>
      (result as Rejected).map((rejected) => ({ ...rejected, index: positions[rejected.index] ?? rejected.index })),
    );
  }

  async function readTargets(entries: readonly Entry[], { mayRead, ...options }: ReadTargets) {
    type Values = Awaited<ReturnType<TraceStore["refs"]["readTargets"]>>;
    const values: Values = entries.map(() => null);
    const ofTarget = ({ target }: Entry) => projectIdOf(target);
    const readable = [...entries.keys()].filter((at) => mayRead(ofTarget(entries[at]!)));
    const groups = await split<Entry>(
      "refs.readTargets",
      readable.map((at) => entries[at]!),
      {
        projectOf: ofTarget,
        isRead: true,
        more: [{ ...options, mayRead }],
      },
    );
    for (const { result, positions } of groups) {
      for (const [index, value] of (result as Values).entries()) {
        const at = readable[positions[index] ?? -1];
        if (at !== undefined) values[at] = value;
      }
    }
    return values;
  }

  const prepared = new WeakMap<PreparedWrite, readonly Part[]>();
  const routed = Object.fromEntries(
    Object.entries(storeMethods).map(([name, entry]) => [name, routedEntry(name, entry, { call, stream })]),
  ) as unknown as TraceStore;
  return {
    ...routed,
    ...ofEngine,
    callTails: { ...routed.callTails, endTails: () => all.forEach(({ place }) => place.own?.callTails.endTails()) },
    projectEvents: {
      ...routed.projectEvents,
      // Each of them grows, and so does what they are together.
      async settled(projectId) {
        if (projectId !== undefined) return (await call("projectEvents.settled", readFirst, [projectId])) as bigint;
        return (await ofAll<bigint>("projectEvents.settled", [])).reduce((sum, each) => sum + each, 0n);
      },
    },
    objects: { ...routed.objects, forget: () => all.forEach(({ place }) => place.own?.objects.forget()) },
    files: {
      ...routed.files,
      blobsInUse: async (keys) =>
        new Set((await ofAll<Set<string>>("files.blobsInUse", [keys])).flatMap((each) => [...each])),
      exist: async () => (await ofAll<boolean>("files.exist", [])).includes(true),
    },
    feedback: {
      ...routed.feedback,
      async createBatch(feedback) {
        type Created = Awaited<ReturnType<TraceStore["feedback"]["createBatch"]>>;
        const groups = await split<(typeof feedback)[number]>("feedback.createBatch", feedback, {
          projectOf: ({ project_id }) => project_id,
        });
        return inOrder<Created[number]>(groups);
      },
    },
    refs: followRefs(async (entries, options) => await readTargets(entries, options)),
    ingest,
    // What waits for a commit at another replica is kept as it came.
    async prepareIngest(parts) {
      const write: PreparedWrite = { parts: [], rejected: [] };
      prepared.set(write, parts);
      return write;
    },
    ingestPrepared: async (write) => await ingest(prepared.get(write) ?? []),
    async yieldToCommits() {
      await Promise.all(all.map(async ({ place }) => await place.own?.yieldToCommits()));
    },
    async projectCalls(projectIds, options) {
      type Counted = Awaited<ReturnType<TraceStore["projectCalls"]>>;
      const groups = await split<string>("projectCalls", projectIds, {
        projectOf: (projectId) => projectId,
        isRead: true,
        more: options === undefined ? [] : [options],
      });
      return inOrder<Counted[number]>(groups);
    },
    brokenParts: async () => (await ofAll<Awaited<ReturnType<TraceStore["brokenParts"]>>>("brokenParts", [])).flat(),
    checkWrites: async () => void (await ofAll("checkWrites", [])),
  };
}

const notHere = (): never => {
  throw new Error("this is a matter of one engine");
};

const ofEngine: Pick<
  TraceStore,
  "isNew" | "parts" | "rebuild" | "detachedParts" | "load" | "engineRestarted" | "maintain" | "close"
> = {
  isNew: false,
  parts: notHere,
  rebuild: notHere,
  detachedParts: notHere,
  load: notHere,
  engineRestarted: notHere,
  maintain: notHere,
  close: notHere,
};

/** The results of each group where its items were. */
function inOrder<Result>(groups: readonly { result: unknown; positions: readonly number[] }[]): Result[] {
  const found = groups.flatMap(({ result, positions }) =>
    (result as readonly Result[]).map((value, index) => ({ value, position: positions[index] ?? index })),
  );
  return found.toSorted((a, b) => a.position - b.position).map(({ value }) => value);
}

interface Routes {
  call: (name: string, method: StoreMethod, args: readonly unknown[]) => Promise<unknown>;
  stream: (name: string, method: StoreMethod, args: readonly unknown[]) => AsyncIterable<unknown>;
}

type Entries = StoreMethod | { [name: string]: StoreMethod };

function routedEntry(name: string, entry: Entries, routes: Routes): unknown {
  if (typeof entry.returns !== "string") {
    const inner = Object.entries(entry as Record<string, StoreMethod>);
    return Object.fromEntries(inner.map(([each, method]) => [each, routedEntry(`${name}.${each}`, method, routes)]));
  }
  const method = entry as StoreMethod;
  const { call, stream } = routes;
  return method.returns === "value"
    ? async (...args: readonly unknown[]) => await call(name, method, args)
    : (...args: readonly unknown[]) => stream(name, method, args);
}
