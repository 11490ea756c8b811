import { mainThread } from "@heddle/concurrency";
import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { readPage } from "../database/page.js";
import type { CursorPage } from "../database/page.js";
import { batches, Parameters } from "../database/parameters.js";
import { originalText, storedText } from "../database/stored-text.js";

/** A trajectory of a job, and what it contributes to the training. */
export interface RolloutRecord {
  /** Index of its group in the request. */
  group: number;
  /** Index in its group. */
  index: number;
  reward: number;
  /** Null where they are too long for a list. */
  metrics: Record<string, number> | null;
  advantage: number;
  /** Null where it was not tokenized. */
  tokens: number | null;
  trained_tokens: number;
  /** Why nothing of it is trained; null otherwise. */
  skipped: string | null;
  call_ids: string[];
  /** Where its text is in the blob; null where that is not known. */
  text: { start: number; length: number } | null;
}

interface RolloutPage extends CursorPage {
  sort_by?: "position" | "reward" | "advantage";
  /** Only those of the group with this index. */
  group?: number;
}

/** The rollouts of jobs that are kept: with the blob of a job, all that is known of them goes. */
export interface TrainingRollouts {
  /**
   * Stores those of a running job, in place of those that an earlier attempt has left behind. Does nothing for a job that
   * does not run, whose model was deleted, or whose rollouts are not kept.
   */
  put(jobId: string, rollouts: readonly RolloutRecord[]): Promise<void>;
  /** A page in the order of the request, or of rewards or advantages. Throws `invalid` for an unknown cursor. */
  page(jobId: string, page: RolloutPage): Promise<{ rollouts: RolloutRecord[]; has_more: boolean }>;
  /** Deletes those of all jobs of a model. */
  deleteOfModel(modelId: string): Promise<void>;
  /**
   * Deletes those of the oldest jobs that have ended, until the texts of all have at most so many bytes, and what an
   * interrupted deletion has left behind.
   */
  deleteOldest(mostBytes: number): Promise<void>;
}

/** Rows of one transaction: as long as it lasts, no other statement of the process runs. */
const sliceRows = 500;

const orders = { position: "position", reward: "by_reward", advantage: "by_advantage" } as const;

export const rolloutId = ({ group, index }: Pick<RolloutRecord, "group" | "index">): string => `${group}.${index}`;

export function openTrainingRollouts(database: Database): TrainingRollouts {
  return {
    async put(jobId, rollouts) {
      const [count] = await database.rows("SELECT COUNT(*) AS n FROM training_rollouts WHERE job_id = $1", [jobId]);
      if (count !== undefined && Number(integerOf(count, "n")) === rollouts.length) return;
      await deleteRows(database, jobId);
      const byReward = ranks(rollouts, ({ reward }) => reward);
      const byAdvantage = ranks(rollouts, ({ advantage }) => advantage);
      for (let from = 0; from < rollouts.length; from += sliceRows) {
        const isKept = await database.transaction(async (statements) => {
          if (!(await keepsRollouts(statements, jobId))) return false;
          for (const some of batches(rollouts.slice(from, from + sliceRows).map((rollout, at) => ({ rollout, at })))) {
            const p = new Parameters();
            const values = some.map(({ rollout, at }) => {
              const position = from + at;
              const numbers = [rollout.group, position, byReward[position] ?? 0, byAdvantage[position] ?? 0];
              const bound = [jobId, rolloutId(rollout), ...numbers.map(BigInt), storedText(JSON.stringify(rollout))];
              return `(${bound.map((value) => p.bind(value)).join(", ")})`;
            });
            await statements.run(
              `INSERT INTO training_rollouts (job_id, id, group_index, position, by_reward, by_advantage, record)
                VALUES ${values.join(", ")}`,
              p.values,
            );
          }
          return true;
        });
        if (!isKept) return;
        await mainThread.giveWay();
      }
    },
    async page(jobId, { sort_by = "position", group, ...page }) {
      const { rows, hasMore } = await readPage(
        database,
        {
          table: "training_rollouts",
          columns: "record",
          position: orders[sort_by],
          owner: ["job_id", jobId],
          filters: group === undefined ? [] : [["group_index", [BigInt(group)]]],
          condition: "EXISTS (SELECT 1 FROM training_jobs j WHERE j.id = job_id AND j.rollouts_blob IS NOT NULL)",
          bytes: "octet_length(record)",
          keepsDeleted: false,
        },
        page,
      );
      const rollouts = rows.map((row) => JSON.parse(originalText(textOf(row, "record"))) as RolloutRecord);
      return { rollouts, has_more: hasMore };
    },
    async deleteOfModel(modelId) {
      await forget(database, "model_id = $1", modelId);
      await deleteForgotten(database);
    },
    async deleteOldest(mostBytes) {
      await deleteForgotten(database);
      for (;;) {
        const [sum] = await database.rows(
          "SELECT CAST(COALESCE(SUM(rollouts_bytes), 0) AS BIGINT) AS bytes FROM training_jobs WHERE rollouts_bytes IS NOT NULL",
        );
        if (sum === undefined || integerOf(sum, "bytes") <= BigInt(mostBytes)) return;
        const [oldest] = await database.rows(
          `SELECT id FROM training_jobs WHERE rollouts_bytes IS NOT NULL AND state NOT IN ('queued', 'running')
            ORDER BY sequence LIMIT 1`,
        );
        if (oldest === undefined) return;
        await forget(database, "id = $1", textOf(oldest, "id"));
        await deleteForgotten(database);
      }
    },
  };
}

/** The positions that the items have when they are sorted by a number, least first. */
function ranks<Item>(items: readonly Item[], numberOf: (item: Item) => number): number[] {
  const sorted = items.map((item, at) => ({ at, value: numberOf(item) })).toSorted((a, b) => a.value - b.value);
  const found = Array.from(items, () => 0);
  for (const [rank, { at }] of sorted.entries()) found[at] = rank;
  return found;
}

async function keepsRollouts(statements: Statements, jobId: string): Promise<boolean> {
  const rows = await statements.rows(
    `SELECT j.id FROM training_jobs j JOIN training_models m ON m.id = j.model_id
      WHERE j.id = $1 AND j.state = 'running' AND j.rollouts_blob IS NOT NULL AND m.deleted_at IS NULL`,
    [jobId],
  );
  return rows.length > 0;
}

/** From here on the blobs are not kept, and the rows are not read. */
async function forget(statements: Statements, condition: string, value: string): Promise<void> {
  await statements.run(
    `UPDATE training_jobs SET rollouts_blob = NULL WHERE rollouts_bytes IS NOT NULL AND ${condition}`,
    [value],
  );
}

async function deleteForgotten(database: Database): Promise<void> {
  const forgotten = await database.rows(
    "SELECT id FROM training_jobs WHERE rollouts_bytes IS NOT NULL AND rollouts_blob IS NULL",
  );
  for (const row of forgotten) {
    const id = textOf(row, "id");
    await deleteRows(database, id);
    await database.run("UPDATE training_jobs SET rollouts_bytes = NULL WHERE id = $1", [id]);
  }
}

async function deleteRows(database: Database, jobId: string): Promise<void> {
  for (;;) {
    const [last] = await database.rows(
      `SELECT MAX(position) AS position FROM
        (SELECT position FROM training_rollouts WHERE job_id = $1 ORDER BY position LIMIT $2) AS slice`,
      [jobId, BigInt(sliceRows)],
    );
    const position = last?.["position"];
    if (typeof position !== "bigint") return;
    await database.run("DELETE FROM training_rollouts WHERE job_id = $1 AND position <= $2", [jobId, position]);
    await mainThread.giveWay();
  }
}
