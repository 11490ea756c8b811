import { setImmediate as nextTurn } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { CallPart } from "@heddle/trace-model";
import type { StoreContext } from "../context.js";
import { commitParts } from "./commit-parts.js";
import type { WriteRequest } from "./commit-parts.js";
import { deleteCalls } from "./delete-calls.js";
import { groupCommits } from "./group-commits.js";
import type { InFlight } from "./in-flight.js";
import { keyText } from "./call-key.js";
import type { EndSide, StartSide } from "./call-sides.js";
import { scheduleMaintenance } from "./maintenance.js";
import { withPatience } from "./patience.js";
import { preparePart } from "./prepare.js";
import type { PreparedPart, RejectedPart } from "./prepare.js";
import { recover } from "./recover.js";
import { nameRowColumns, nameRow } from "./rows.js";
import { IngestState, defaultLimits } from "./state.js";
import type { IngestLimits } from "./state.js";
import { insertSound } from "./write-calls.js";
import type { IngestContext, NameChange } from "./write-calls.js";

/** A check that has to wait longer for its turn tells what failed before. */
const checkMs = 1500;
/** Names a call that is never there. */
const probeCall = { project_id: "heddle/system-check", id: "write" };

/** Everything that changes calls. All of it rejects with `busy` while the engine cannot answer. */
export interface Ingest {
  /**
   * Stores parts and resolves when they are on disk and readable, with those that could not be stored. Parts may come
   * in any order, repeatedly, and in different requests: the call is there once. Later parts of a request win.
   */
  write(parts: readonly CallPart[]): Promise<RejectedPart[]>;
  /**
   * For those who make parts: resolves when others have had their turn and no commit is being sent. The socket to the
   * engine takes 200 KB at a time, and the engine idles until it has all.
   */
  turn(): Promise<void>;
  /** Sets the name shown for a call, "" clears it. An id that is not stored keeps the name for later. */
  rename: (project_id: string, id: string, display_name: string) => Promise<void>;
  /** Deletes calls with all their descendants; counts the ids and the descendants found. */
  delete: (project_id: string, ids: readonly string[], user: string) => Promise<{ num_deleted: number }>;
  inFlight: InFlight;
  /** Rejects when writes do not work. It costs a write of its own, but only after one has failed. */
  check(): Promise<void>;
  /** The engine is a new process: what it did last is unknown. */
  engineRestarted(): void;
  /** Does now what is otherwise done between commits, as far as it is due; all of it with `force`. */
  maintain(force?: boolean): Promise<void>;
  /** Commits what waits and stops. */
  close(): Promise<void>;
}

/** Opens the committer of a tracing database and mends what a crash may have left. */
export async function openIngest(store: StoreContext, limits: Partial<IngestLimits> = {}): Promise<Ingest> {
  const state = new IngestState({ ...defaultLimits, ...limits });
  const context: IngestContext = { ...store, state };
  const queue = groupCommits<WriteRequest>(commit);
  /** Why the last write failed. */
  let failure: { error: unknown } | undefined;
  let checking: Promise<void> | undefined;
  await recover(context);
  const maintenance = scheduleMaintenance(context, queue, ready);

  async function turn(): Promise<void> {
    await nextTurn();
    await store.engine.sent();
  }

  async function ready(): Promise<void> {
    if (state.suspect) await recover(context);
  }

  async function tryWriting(): Promise<void> {
    await ready();
    await insertSound(store.engine, "call_names", nameRowColumns, [nameRow(probeCall, "", store.clock.next())]);
    failure = undefined;
  }

  async function commit(requests: WriteRequest[]): Promise<void> {
    try {
      await ready();
      await commitParts(context, requests);
      failure = undefined;
    } catch (error) {
      failure = { error };
      for (const { reject } of requests) reject(error);
    }
  }

  async function submit(parts: readonly PreparedPart[], names: readonly NameChange[]): Promise<RejectedPart[]> {
    const committed = new Promise<RejectedPart[]>((resolve, reject) => {
      const bytes = parts.reduce((sum, { start, end }) => sum + bytesOf(start) + bytesOf(end), 0);
      const rows = parts.length + names.length;
      if (!queue.add({ parts, names, rows, bytes, resolve, reject })) {
        reject(new HeddleError("busy", "Too many writes wait for the trace engine"));
      }
    });
    try {
      return await withPatience(committed);
    } catch (error) {
      failure = { error };
      throw error;
    }
  }

  return {
    turn,
    async write(parts) {
      const prepared: PreparedPart[] = [];
      const rejected: RejectedPart[] = [];
      let since = performance.now();
      for (const [index, part] of parts.entries()) {
        if (index % partsPerClockCheck === 0 && performance.now() - since > sliceMs) {
          await turn();
          since = performance.now();
        }
        const result = preparePart(part, index);
        if ("key" in result) prepared.push(result);
        else rejected.push(result);
      }
      return prepared.length === 0 ? rejected : rejected.concat(await submit(prepared, []));
    },
    async rename(project_id, id, display_name) {
      if (state.deleted.has(keyText({ project_id, id }))) return;
      await submit([], [{ project_id, id, display_name }]);
    },
    async delete(project_id, ids, user) {
      // Its turn comes soon; what it then takes depends on how much it deletes.
      let begin = () => {};
      const turn = new Promise<void>((resolve) => (begin = resolve));
      const deleted = queue.alone(async () => {
        begin();
        await ready();
        return await deleteCalls(context, project_id, ids, user);
      });
      await withPatience(Promise.race([turn, deleted]));
      return await deleted;
    },
    inFlight: state,
    async check() {
      if (failure === undefined) return;
      const { error } = failure;
      checking ??= queue.alone(tryWriting).finally(() => (checking = undefined));
      await withPatience(checking, checkMs, () => error);
    },
    engineRestarted() {
      state.suspect = true;
    },
    maintain: (force) => maintenance.run(force),
    async close() {
      await maintenance.stop();
      await queue.close();
    },
  };
}

/** So long parts are prepared in one go. */
const sliceMs = 2;
/** After so many parts it is time to look at the clock. */
const partsPerClockCheck = 16;

/** About what a side takes in the insert. */
function bytesOf(side: StartSide | EndSide | undefined): number {
  return side === undefined ? 0 : side.fields.length + 100;
}
