import { randomBytes, randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { HeddleError } from "@heddle/errors";
import type { Database } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { readPage } from "../database/page.js";
import type { CursorPage } from "../database/page.js";
import { Parameters } from "../database/parameters.js";
import { originalText, storedText } from "../database/stored-text.js";
import { addDeliveries } from "./notify.js";
import type { WebhookEvent } from "./notify.js";
import { deliveryColumns, deliveryOf, webhookColumns, webhookOf } from "./records.js";
import type { DueDelivery, Webhook, WebhookDelivery, WebhookEventType } from "./records.js";

type NewWebhook = Pick<Webhook, "project_id" | "url" | "events"> & {
  description?: string;
  /** JSON text. */
  threshold?: string;
  /** It gets what changes after this version. */
  position: bigint;
  created_by: string;
};

/** A project whose webhooks get events of what is stored in it. */
interface FollowedProject {
  project_id: string;
  /** Up to this version they have been; undefined where that is to begin. */
  position: bigint | undefined;
}

/** What was found of the threshold of a webhook. */
type ThresholdFinding = { passed: boolean; current: number | null } | { error: string };

/** How an attempt of a delivery has ended; `after` are the microseconds until the next one. */
interface DeliveryAttempt {
  response_status?: number;
  error?: string;
  outcome: "delivered" | "failed" | { after: bigint };
}

/** Where events of projects are sent, and what is to be sent. A delivery stays until its receiver has it. */
export interface Webhooks {
  /** Returns the secret this once. Throws `conflict` for more than 100 of one project, or 20 with a threshold. */
  create(webhook: NewWebhook): Promise<{ webhook: Webhook; secret: string }>;
  /** Those of a project, oldest first. */
  list(projectId: string): Promise<Webhook[]>;
  get(projectId: string, id: string): Promise<Webhook | undefined>;
  /** Deletes a webhook with its deliveries; returns false when the project has none with this id. */
  delete(projectId: string, id: string): Promise<boolean>;
  /** A page of the deliveries of a webhook, newest first. Throws `invalid` for an unknown cursor. */
  deliveries(
    webhookId: string,
    page: Omit<CursorPage, "order">,
  ): Promise<{ deliveries: WebhookDelivery[]; has_more: boolean }>;
  /** Projects with webhooks that have asked for one of the events. */
  followed(events: readonly WebhookEventType[]): Promise<FollowedProject[]>;
  /**
   * Adds deliveries for what happened in a project, and notes up to which version that is: both or neither, so that each
   * event is sent once.
   */
  recordEvents(projectId: string, upTo: bigint, events: readonly WebhookEvent[]): Promise<void>;
  /** Those with a threshold, of all projects, the one that was looked at longest ago first. */
  withThreshold(): Promise<Array<Pick<Webhook, "id" | "project_id">>>;
  /**
   * Records what was found of a threshold, together with the event that it is passed now, or not any more. What could not be
   * found changes nothing else.
   */
  recordThreshold(webhook: Pick<Webhook, "id" | "project_id">, found: ThresholdFinding): Promise<void>;
  /** The first delivery that is due of each webhook but those given, earliest first. */
  due(webhooksInUse: readonly string[], limit: number): Promise<DueDelivery[]>;
  /** Milliseconds until the next delivery is due, at most 0 when one is; undefined if none waits. */
  msToNextDue(): Promise<number | undefined>;
  /** Records how an attempt has ended. */
  record(deliveryId: string, attempt: DeliveryAttempt): Promise<void>;
  /** Deletes deliveries that have ended before a time. */
  forget(before: bigint): Promise<void>;
  /** Calls `onAdded` when this process has added deliveries. Returns what ends that. */
  watch(onAdded: () => void): () => void;
}

const mostPerProject = 100n;
const mostThresholds = 20n;
const secretBytes = 32;

/** None waits for longer: one that seems to was recorded before the clock was set back, by a process that has ended. */
const longestWait = 24n * 3_600_000_000n;

/** Attempts follow each other on the `steady` clock. */
export function openWebhooks(database: Database, now: () => bigint, steady = now): Webhooks {
  const added = new EventEmitter();
  /** The first attempt is due when the event is added, by the clock of the machine. */
  const latestDue = () => (steady() > now() ? steady() : now());
  return {
    async create({ project_id, url, events, description, threshold, position, created_by }) {
      const secret = `whsec_${randomBytes(secretBytes).toString("base64")}`;
      const webhook = await database.transaction(async (statements) => {
        const [count = {}] = await statements.rows(
          "SELECT COUNT(*) AS n, COUNT(threshold) AS thresholds FROM webhooks WHERE project_id = $1",
          [project_id],
        );
        const tooMany = (most: bigint, what: string, loc: string) =>
          new HeddleError("conflict", `a project has at most ${most} ${what}`, { loc: [loc] });
        if (integerOf(count, "n") >= mostPerProject) throw tooMany(mostPerProject, "webhooks", "project_id");
        if (threshold !== undefined && integerOf(count, "thresholds") >= mostThresholds)
          throw tooMany(mostThresholds, "webhooks with a threshold", "threshold");
        const [row] = await statements.rows(
          `INSERT INTO webhooks (id, sequence, project_id, url, events, description, secret, created_at, created_by, threshold, position)
            SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM webhooks WHERE TRUE
            RETURNING ${webhookColumns}`,
          [
            randomUUID(),
            project_id,
            storedText(url),
            JSON.stringify([...new Set(events)]),
            description === undefined ? null : storedText(description),
            secret,
            now(),
            storedText(created_by),
            threshold === undefined ? null : storedText(threshold),
            position,
          ],
        );
        return webhookOf(row ?? {});
      });
      return { webhook, secret };
    },
    async list(projectId) {
      const sql = `SELECT ${webhookColumns} FROM webhooks WHERE project_id = $1 ORDER BY sequence`;
      return (await database.rows(sql, [projectId])).map(webhookOf);
    },
    async get(projectId, id) {
      if (!isStorable(id)) return undefined;
      const sql = `SELECT ${webhookColumns} FROM webhooks WHERE project_id = $1 AND id = $2`;
      const [row] = await database.rows(sql, [projectId, id]);
      return row && webhookOf(row);
    },
    async delete(projectId, id) {
      if (!isStorable(id)) return false;
      return await database.transaction(async (statements) => {
        const condition = "project_id = $1 AND";
        await statements.run(`DELETE FROM webhook_deliveries WHERE ${condition} webhook_id = $2`, [projectId, id]);
        const sql = `DELETE FROM webhooks WHERE ${condition} id = $2 RETURNING id`;
        return (await statements.rows(sql, [projectId, id])).length > 0;
      });
    },
    async deliveries(webhookId, page) {
      const { rows, hasMore } = await readPage(
        database,
        {
          table: "webhook_deliveries",
          columns: deliveryColumns,
          position: "sequence",
          owner: ["webhook_id", webhookId],
          bytes: "octet_length(payload)",
          keepsDeleted: false,
        },
        { ...page, order: "desc" },
      );
      return { deliveries: rows.map(deliveryOf), has_more: hasMore };
    },
    async followed(events) {
      const rows = await database.rows(
        "SELECT project_id, events, position FROM webhooks ORDER BY project_id, sequence",
      );
      const found = new Map<string, FollowedProject>();
      for (const row of rows) {
        const asked = JSON.parse(textOf(row, "events")) as WebhookEventType[];
        if (!events.some((event) => asked.includes(event))) continue;
        const projectId = textOf(row, "project_id");
        const position = row["position"] === null ? undefined : integerOf(row, "position");
        const other = found.get(projectId);
        const isFirst = other?.position === undefined || (position !== undefined && position < other.position);
        if (isFirst) found.set(projectId, { project_id: projectId, position: position ?? other?.position });
      }
      return [...found.values()];
    },
    async recordEvents(projectId, upTo, events) {
      await database.transaction(async (statements) => {
        for (const event of events) await addDeliveries(statements, event, now());
        const sql = "UPDATE webhooks SET position = $2 WHERE project_id = $1 AND (position IS NULL OR position < $2)";
        await statements.run(sql, [projectId, upTo]);
      });
      if (events.length > 0) added.emit("added");
    },
    async withThreshold() {
      const sql = `SELECT id, project_id FROM webhooks WHERE threshold IS NOT NULL
        ORDER BY COALESCE(threshold_checked_at, 0), sequence`;
      return (await database.rows(sql)).map((row) => ({
        id: textOf(row, "id"),
        project_id: textOf(row, "project_id"),
      }));
    },
    async recordThreshold({ id, project_id }, found) {
      const isChanged = await database.transaction(async (statements) => {
        if ("error" in found) {
          const sql = "UPDATE webhooks SET threshold_checked_at = $2, threshold_error = $3 WHERE id = $1";
          await statements.run(sql, [id, now(), storedText(found.error)]);
          return false;
        }
        const { passed, current } = found;
        const [before] = await statements.rows("SELECT threshold, threshold_passed FROM webhooks WHERE id = $1", [id]);
        // It may have been deleted meanwhile.
        if (before === undefined) return false;
        await statements.run(
          `UPDATE webhooks SET threshold_passed = $2, threshold_current = $3, threshold_checked_at = $4, threshold_error = NULL
            WHERE id = $1`,
          [id, passed ? 1n : 0n, current === null ? null : String(current), now()],
        );
        if ((integerOf(before, "threshold_passed") === 1n) === passed) return false;
        const threshold: unknown = JSON.parse(originalText(textOf(before, "threshold")));
        const data = { webhook_id: id, state: passed ? "passed" : "over", current, threshold };
        await addDeliveries(statements, { project_id, type: "threshold.passed", webhook_id: id, data }, now());
        return true;
      });
      if (isChanged) added.emit("added");
    },
    async due(webhooksInUse, limit) {
      const p = new Parameters();
      const at = latestDue();
      const isDue = `(next_at <= ${p.bind(at)} OR next_at > ${p.bind(at + longestWait)})`;
      const others =
        webhooksInUse.length === 0 ? "" : `AND webhook_id NOT IN (${webhooksInUse.map((id) => p.bind(id)).join(", ")})`;
      const rows = await database.rows(
        `SELECT d.id, d.payload, d.attempts, d.webhook_id, d.project_id, w.url, w.secret
          FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
          WHERE d.id IN (SELECT id FROM (
              SELECT id, ROW_NUMBER() OVER (PARTITION BY webhook_id ORDER BY next_at, sequence) AS place
                FROM webhook_deliveries WHERE state = 'pending' AND ${isDue} ${others}
            ) AS waiting WHERE place = 1)
          ORDER BY d.next_at, d.sequence LIMIT ${p.bind(BigInt(limit))}`,
        p.values,
      );
      return rows.map((row) => ({
        id: textOf(row, "id"),
        payload: originalText(textOf(row, "payload")),
        attempts: Number(integerOf(row, "attempts")),
        webhook_id: textOf(row, "webhook_id"),
        project_id: textOf(row, "project_id"),
        url: originalText(textOf(row, "url")),
        secret: textOf(row, "secret"),
      }));
    },
    async msToNextDue() {
      const [row] = await database.rows(
        "SELECT MIN(next_at) AS next, MAX(next_at) AS last FROM webhook_deliveries WHERE state = 'pending'",
      );
      const { next, last } = row ?? {};
      if (typeof next !== "bigint" || typeof last !== "bigint") return undefined;
      const at = latestDue();
      return last > at + longestWait ? 0 : Number(next - at) / 1000;
    },
    async record(deliveryId, { response_status, error, outcome }) {
      const state = typeof outcome === "string" ? outcome : "pending";
      await database.run(
        `UPDATE webhook_deliveries SET attempts = attempts + 1, state = $2, response_status = $3, error = $4,
            next_at = $5, ended_at = $6 WHERE id = $1 AND state = 'pending'`,
        [
          deliveryId,
          state,
          response_status === undefined ? null : BigInt(response_status),
          error === undefined ? null : storedText(error),
          typeof outcome === "string" ? null : steady() + outcome.after,
          typeof outcome === "string" ? now() : null,
        ],
      );
    },
    async forget(before) {
      await database.run("DELETE FROM webhook_deliveries WHERE ended_at IS NOT NULL AND ended_at < $1", [before]);
    },
    watch(onAdded) {
      added.on("added", onAdded);
      return () => void added.off("added", onAdded);
    },
  };
}
