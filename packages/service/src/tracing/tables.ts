import { withLoc } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { RawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { externalRefs } from "@heddle/trace-model";
import type { ProjectOf } from "@heddle/trace-model";
import type { ReadOptions } from "@heddle/trace-store";
import { reserveForStream } from "../limits/request-scope.js";
import { internalProjects } from "../wire/internal-refs.js";
import { collect } from "../http/collect.js";
import type { Caller, Services } from "../services.js";

export function tableHandlers({ control, store }: Services): TracingHandlers<Caller>["tables"] {
  async function* rows(body: Schemas["TableQueryReq"], options: ReadOptions) {
    for await (const { digest, val, original_index } of store.tables.query(body, options)) {
      yield { digest, val: rawJson(val), original_index };
    }
  }

  return {
    async tableCreate({ body: { table } }, caller) {
      const projectOf = await internalProjects(control, caller, table.rows);
      return withLoc(["table"], () =>
        store.tables.create({ ...table, rows: table.rows.map((row) => externalRefs(row.text, projectOf)) }),
      );
    },

    async tableCreateFromDigests({ body }) {
      return store.tables.createFromDigests(body);
    },

    async tableUpdate({ body }, caller) {
      const projectOf = await internalProjects(control, caller, body.updates);
      return store.tables.update({ ...body, updates: body.updates.map((update) => storedUpdate(update, projectOf)) });
    },

    async tableQuery({ body, signal }) {
      return { rows: await collect(rows(body, { signal })) };
    },

    tableQueryStream: ({ body, signal }) => rows(body, { signal, reserve: reserveForStream() }),

    async tableQueryStats({ body, signal }) {
      const [stats] = await store.tables.stats({ project_id: body.project_id, digests: [body.digest] }, { signal });
      return { count: stats?.count ?? 0 };
    },

    async tableQueryStatsBatch({ body, signal }) {
      return { tables: await store.tables.stats(body, { signal }) };
    },
  };
}

type Update = Schemas["TableUpdateReq"]["updates"][number];

function storedUpdate(update: Update, projectOf: ProjectOf) {
  const text = (row: RawJson) => externalRefs(row.text, projectOf);
  if ("append" in update) return { append: { row: text(update.append.row) } };
  if ("insert" in update) return { insert: { index: update.insert.index, row: text(update.insert.row) } };
  return update;
}
