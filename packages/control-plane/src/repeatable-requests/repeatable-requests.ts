import { HeddleError } from "@heddle/errors";
import type { Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { originalText, storedText } from "../database/stored-text.js";

/** A request that may come again with the same id. */
interface RepeatableRequest {
  project_id: string;
  id: string;
  /** Of what the request says: another one may not have its id. */
  checksum: string;
}

/** What a request does is decided once: one that comes again has the plan of the first one, and its result where it has ended. */
export interface RepeatableRequests {
  /** Throws `conflict` for an id that belongs to another request. */
  find(request: RepeatableRequest): Promise<{ plan: string; result: string | undefined } | undefined>;
  /** Keeps the plan of a request for a day. */
  begin(request: RepeatableRequest & { plan: string }): Promise<void>;
  finish(request: RepeatableRequest & { result: string }): Promise<void>;
}

const keptUs = 86_400_000_000n;

/** Inside of a transaction too: what a request did is then kept if and only if it was done. */
export function openRepeatableRequests(statements: Statements, now: () => bigint): RepeatableRequests {
  return {
    async find({ project_id, id, checksum }) {
      const [row] = await statements.rows(
        "SELECT checksum, plan, coalesce(result, '') AS result FROM repeatable_requests WHERE project_id = $1 AND id = $2 AND created_at > $3",
        [project_id, storedText(id), now() - keptUs],
      );
      if (row === undefined) return undefined;
      if (textOf(row, "checksum") !== checksum) {
        throw new HeddleError("conflict", "The X-Weave-Retry-Id belongs to another request");
      }
      return { plan: originalText(textOf(row, "plan")), result: originalText(textOf(row, "result")) || undefined };
    },
    async begin({ project_id, id, checksum, plan }) {
      await statements.run("DELETE FROM repeatable_requests WHERE created_at <= $1", [now() - keptUs]);
      await statements.run(
        `INSERT INTO repeatable_requests (project_id, id, checksum, plan, created_at) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (project_id, id) DO NOTHING`,
        [project_id, storedText(id), checksum, storedText(plan), now()],
      );
    },
    async finish({ project_id, id, result }) {
      await statements.run("UPDATE repeatable_requests SET result = $3 WHERE project_id = $1 AND id = $2", [
        project_id,
        storedText(id),
        storedText(result),
      ]);
    },
  };
}
