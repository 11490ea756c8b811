import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText, storedText } from "../database/stored-text.js";
import type { Caller } from "./callers.js";
import type { KeyChecks } from "./key-checks.js";
import { newSecret, secretHash } from "./secret.js";
import type { KeyCheck } from "./verify.js";

/** A link by which anybody can read one trace. */
export interface Share {
  id: string;
  project_id: string;
  trace_id: string;
  /** Paths of calls that it does not show. */
  redact: string[];
  created_by: string;
  created_at: bigint;
  expires_at: bigint;
}

/** The caller of a share, or why there is none. */
export type ShareCheck = KeyCheck | { caller?: undefined; refused: "expired" };

export interface Shares {
  /** Returns a share and its secret, which is stored only as a hash. Throws `too_large` for too many in a project. */
  create(caller: Caller, share: NewShare): Promise<{ share: Share; token: string }>;
  /** Those of a project that have not expired, newest first. */
  list(projectId: string): Promise<Share[]>;
  /** Ends a share. False if there is none. */
  revoke(projectId: string, id: string): Promise<boolean>;
  /** The caller of a token: that of its key, who may read the shared trace and nothing else. */
  check(token: string): Promise<ShareCheck>;
}

interface NewShare extends Pick<Share, "project_id" | "trace_id" | "redact"> {
  /** Microseconds. */
  expires_in: bigint;
}

const mostOfProject = 1000n;

export function openShares(database: Database, keys: KeyChecks, now: () => bigint): Shares {
  const valid = "project_id = $1 AND expires_at > $2";
  return {
    async create(caller, { project_id, trace_id, redact, expires_in }) {
      const [token, id, time] = [newSecret(), randomUUID(), now()];
      const share = { id, project_id, trace_id, redact, created_by: caller.user_id, created_at: time };
      const shared = { ...share, expires_at: time + expires_in };
      await database.transaction(async (statements) => {
        await statements.run("DELETE FROM shares WHERE expires_at <= $1", [time]);
        const [row] = await statements.rows("SELECT count(*) AS n FROM shares WHERE project_id = $1", [project_id]);
        if (integerOf(row ?? {}, "n") >= mostOfProject) {
          const message = `a project has at most ${mostOfProject} shares at once: revoke some`;
          throw new HeddleError("too_large", message);
        }
        await statements.run(
          `INSERT INTO shares (id, token_sha256, key_id, key_check, project_id, trace_id, redact, created_by, created_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
          [
            id,
            secretHash(token),
            caller.key_id,
            keys.checkOf(caller),
            project_id,
            storedText(trace_id),
            storedText(JSON.stringify(redact)),
            shared.created_by,
            time,
            shared.expires_at,
          ],
        );
      });
      return { share: shared, token };
    },

    async list(projectId) {
      const sql = `SELECT * FROM shares WHERE ${valid} ORDER BY created_at DESC, id`;
      return (await database.rows(sql, [projectId, now()])).map(shareOf);
    },

    async revoke(projectId, id) {
      const sql = `DELETE FROM shares WHERE ${valid} AND id = $3 RETURNING id`;
      return (await database.rows(sql, [projectId, now(), id])).length > 0;
    },

    async check(token) {
      const [row] = await database.rows("SELECT * FROM shares WHERE token_sha256 = $1", [secretHash(token)]);
      if (row === undefined) return { refused: "unknown" };
      const share = shareOf(row);
      if (now() >= share.expires_at) return { refused: "expired" };
      const check = await keys.callerOf(textOf(row, "key_id"), textOf(row, "key_check"));
      if (check.caller === undefined) return check;
      const { id, project_id, trace_id, redact } = share;
      const [entity = "", project = ""] = project_id.split("/");
      const limits = { entity, projects: [project], role: "read", owner: false } as const;
      return { caller: { ...check.caller, ...limits, share: { id, project_id, trace_id, redact } } };
    },
  };
}

function shareOf(row: Row): Share {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    trace_id: originalText(textOf(row, "trace_id")),
    redact: JSON.parse(originalText(textOf(row, "redact"))) as string[],
    created_by: textOf(row, "created_by"),
    created_at: integerOf(row, "created_at"),
    expires_at: integerOf(row, "expires_at"),
  };
}
