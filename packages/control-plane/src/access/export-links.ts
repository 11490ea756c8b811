import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText, storedText } from "../database/stored-text.js";
import type { Caller } from "./callers.js";
import type { KeyChecks } from "./key-checks.js";
import { newSecret, secretHash } from "./secret.js";
import type { KeyCheck } from "./verify.js";

/** What a link leads to: `request` is the text that was given for it. */
export interface LinkedExport {
  project_id: string;
  request: string;
  check: KeyCheck;
}

/** Links to what is downloaded without a key, each for a while and some starts. */
export interface ExportLinks {
  /**
   * Returns the secret of a new link. Of more than a thousand of one key, or of those whose requests have more than
   * sixteen million characters together, the oldest end.
   */
  create(caller: Caller, projectId: string, request: string): Promise<{ token: string; expires_at: bigint }>;
  /** Finds what a link leads to. Undefined for one that is unknown, has expired or has no starts left. */
  find(token: string): Promise<LinkedExport | undefined>;
  /** Counts a start. False when there is none left. */
  begin(token: string): Promise<boolean>;
}

const validTime = 600_000_000n;
const mostStarts = 3n;
const mostOfKey = 1000;
const mostCharactersOfKey = 16_000_000;
/** Expired ones that are deleted with each new one. */
const deletedAtOnce = 20n;

export function openExportLinks(database: Database, keys: KeyChecks, now: () => bigint): ExportLinks {
  return {
    async create(caller, projectId, request) {
      const [token, time] = [newSecret(), now()];
      await database.transaction(async (statements) => {
        await statements.run(
          `DELETE FROM export_links WHERE token_sha256 IN
            (SELECT token_sha256 FROM export_links WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
          [time - validTime, deletedAtOnce],
        );
        await endOldest(statements, caller.key_id, request.length);
        await statements.run(
          `INSERT INTO export_links (token_sha256, key_id, key_check, project_id, request, created_at, starts, size)
            VALUES ($1, $2, $3, $4, $5, $6, 0, $7)`,
          [
            secretHash(token),
            caller.key_id,
            keys.checkOf(caller),
            projectId,
            storedText(request),
            time,
            BigInt(request.length),
          ],
        );
      });
      return { token, expires_at: time + validTime };
    },

    async begin(token) {
      const sql =
        "UPDATE export_links SET starts = starts + 1 WHERE token_sha256 = $1 AND starts < $2 RETURNING starts";
      return (await database.rows(sql, [secretHash(token), mostStarts])).length > 0;
    },

    async find(token) {
      const sql = "SELECT * FROM export_links WHERE token_sha256 = $1 AND starts < $2";
      const [row] = await database.rows(sql, [secretHash(token), mostStarts]);
      if (row === undefined || now() - integerOf(row, "created_at") > validTime) return undefined;
      const check = await keys.callerOf(textOf(row, "key_id"), textOf(row, "key_check"));
      return { project_id: textOf(row, "project_id"), request: originalText(textOf(row, "request")), check };
    },
  };
}

/** Makes room for one more link of a key. */
async function endOldest(statements: Statements, keyId: string, characters: number): Promise<void> {
  const links = await statements.rows(
    "SELECT created_at, size FROM export_links WHERE key_id = $1 ORDER BY created_at DESC LIMIT $2",
    [keyId, BigInt(mostOfKey)],
  );
  let sum = characters;
  const first = links.findIndex((link, at) => {
    sum += Number(integerOf(link, "size"));
    return at >= mostOfKey - 1 || sum > mostCharactersOfKey;
  });
  const last = links[first];
  if (last === undefined) return;
  await statements.run("DELETE FROM export_links WHERE key_id = $1 AND created_at <= $2", [
    keyId,
    integerOf(last, "created_at"),
  ]);
}
