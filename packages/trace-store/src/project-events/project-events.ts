import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { allRows } from "../schema/read-table.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";

/** An evaluation run that has ended. */
interface FinishedRun {
  id: string;
  /** '' for one that has succeeded. */
  exception: string;
  version: bigint;
}

interface GivenFeedback {
  id: string;
  feedback_type: string;
  weave_ref: string;
  version: bigint;
}

/** What happened in a project after one version, up to another. */
export interface EventsSince {
  /** Nothing is missing up to here. */
  upTo: bigint;
  /** Of the last days, in the order of their versions; one that was changed afterwards is there again. */
  runs: FinishedRun[];
  /** In the order of their versions. */
  feedback: GivenFeedback[];
}

/** What happens in projects that others are notified of. */
export interface ProjectEvents {
  /**
   * The greatest version up to which nothing is missing in a project. Without one it is a number that grows whenever
   * something changes anywhere.
   */
  settled(projectId?: string): Promise<bigint>;
  since(projectId: string, after: bigint, options?: ReadOptions): Promise<EventsSince>;
}

interface Context {
  engine: Engine;
  scope: (projectId: string) => CallScope;
  settled: () => bigint;
}

/** Of each kind at a time. */
const most = 200;
/** Runs that ended earlier are not reported any more. */
const runsKeptUs = 6n * 86_400_000_000n;

export function openProjectEvents({ engine, scope, settled }: Context): ProjectEvents {
  return {
    settled: async () => settled(),
    async since(projectId, after, { signal } = {}) {
      const upTo = settled();
      if (upTo <= after) return { upTo: after, runs: [], feedback: [] };
      const range = (p: Parameters) => [`version > ${p.bind("UInt64", after)}`, `version <= ${p.bind("UInt64", upTo)}`];
      const runs = () => {
        const p = new Parameters();
        const union = visibleCalls(scope(projectId), p, {
          only: "complete",
          select: ["id AS run_id", "exception AS run_exception", "version AS run_version"],
          prewhere: [...range(p), "endsWith(op_key, 'Evaluation.evaluate')"],
          where: [`ended_at > ${p.time(scope(projectId).now - runsKeptUs)}`],
        });
        const columns = "run_id AS id, argMax(run_exception, run_version) AS exception, max(run_version) AS changed";
        return { sql: `SELECT ${columns} FROM (${union}) GROUP BY run_id ${firstByVersion}`, params: p };
      };
      const feedback = () => {
        const p = new Parameters();
        const where = [`project_id = ${p.bind("String", projectId)}`, ...range(p)].join(" AND ");
        const columns = "id, any(type) AS feedback_type, any(ref) AS weave_ref, max(version) AS changed";
        // What was purged or replaced meanwhile is not there any more.
        const having = "HAVING argMax(deleted, version) = 0";
        return {
          sql: `SELECT ${columns} FROM ${allRows("feedback")} WHERE ${where} GROUP BY id ${having} ${firstByVersion}`,
          params: p,
        };
      };
      const [ended, given] = await Promise.all([
        engine.rows<Omit<FinishedRun, "version"> & Changed>(runs, { signal }),
        engine.rows<Omit<GivenFeedback, "version"> & Changed>(feedback, { signal }),
      ]);
      const until = [ended, given].reduce((least, rows) => lastOf(rows, least), upTo);
      const isRead = ({ version }: { version: bigint }) => version <= until;
      return {
        upTo: until,
        runs: ended.map(({ changed, ...run }) => ({ ...run, version: BigInt(changed) })).filter(isRead),
        feedback: given.map(({ changed, ...row }) => ({ ...row, version: BigInt(changed) })).filter(isRead),
      };
    },
  };
}

interface Changed {
  changed: string;
}

const firstByVersion = `ORDER BY changed LIMIT ${most} WITH TIES`;

/** Up to where rows are all that there are: to the last of them, if there may be more. */
function lastOf(rows: readonly Changed[], upTo: bigint): bigint {
  const last = rows.length < most ? upTo : BigInt(rows.at(-1)?.changed ?? upTo);
  return last < upTo ? last : upTo;
}
