import type { ControlPlaneMigration } from "./migrate.js";

export const annotationQueues: ControlPlaneMigration = {
  version: 3,
  name: "annotation-queues",
  statements: [
    `CREATE TABLE annotation_queues (
      id TEXT PRIMARY KEY,
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      folded_name TEXT NOT NULL,
      description TEXT NOT NULL,
      scorer_refs TEXT NOT NULL,
      total_items BIGINT NOT NULL,
      completed_items BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      updated_at BIGINT NOT NULL,
      deleted_at BIGINT
    )`,
    "CREATE INDEX annotation_queues_by_creation ON annotation_queues (project_id, created_at, id)",
    // State and annotator repeat the newest progress record, so that pages and the next item are found by an index.
    `CREATE TABLE annotation_queue_items (
      id TEXT PRIMARY KEY,
      project_id TEXT NOT NULL,
      queue_id TEXT NOT NULL REFERENCES annotation_queues (id),
      call_id TEXT NOT NULL,
      call_started_at BIGINT NOT NULL,
      call_ended_at BIGINT,
      call_op_name TEXT NOT NULL,
      call_trace_id TEXT NOT NULL,
      display_fields TEXT NOT NULL,
      annotation_state TEXT NOT NULL CHECK (annotation_state IN ('unstarted', 'in_progress', 'completed', 'skipped')),
      annotator_user_id TEXT,
      claimed_by TEXT,
      claimed_until BIGINT,
      added_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      UNIQUE (project_id, queue_id, call_id)
    )`,
    ...[
      ["creation", "created_at, id"],
      ["state", "annotation_state, created_at, id"],
      ["update", "updated_at, id"],
      ["start", "call_started_at, id"],
      ["op", "call_op_name, id"],
    ].map(
      ([name, key]) =>
        `CREATE INDEX annotation_queue_items_by_${name} ON annotation_queue_items (project_id, queue_id, ${key})`,
    ),
    `CREATE INDEX annotation_queue_items_by_claim ON annotation_queue_items (project_id, queue_id, claimed_until)
      WHERE claimed_until IS NOT NULL`,
    `CREATE INDEX annotation_queue_items_by_claimant ON annotation_queue_items (project_id, queue_id, claimed_by, claimed_until)
      WHERE claimed_by IS NOT NULL`,
    `CREATE TABLE annotation_queue_progress (
      project_id TEXT NOT NULL,
      item_id TEXT NOT NULL REFERENCES annotation_queue_items (id),
      annotator_user_id TEXT NOT NULL REFERENCES users (id),
      annotation_state TEXT NOT NULL CHECK (annotation_state IN ('in_progress', 'completed', 'skipped')),
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (project_id, item_id, annotator_user_id)
    )`,
  ],
};
