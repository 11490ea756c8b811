import { rawJson, type RawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { externalRefs } from "@heddle/trace-model";
import { allowRead, allowWrite } from "../access.js";
import { internalProjects, type ProjectOf } from "../internal-refs.js";
import type { Caller, Services } from "../services.js";

export function tableHandlers({ control, store }: Services): TracingHandlers<Caller>["tables"] {
  async function* rows(body: Schemas["TableQueryReq"], caller: Caller, signal: AbortSignal) {
    allowRead(caller, body.project_id);
    for await (const { digest, val, original_index } of store.tables.query(body, { signal })) {
      yield { digest, val: rawJson(val), original_index };
    }
  }

  return {
    async tableCreate({ body: { table } }, caller) {
      await allowWrite(control, caller, table.project_id);
      const projectOf = await internalProjects(control, caller, table.rows);
      return store.tables.create({ ...table, rows: table.rows.map((row) => externalRefs(row.text, projectOf)) });
    },

    async tableCreateFromDigests({ body }, caller) {
      await allowWrite(control, caller, body.project_id);
      return store.tables.createFromDigests(body);
    },

    async tableUpdate({ body }, caller) {
      await allowWrite(control, caller, body.project_id);
      const projectOf = await internalProjects(control, caller, body.updates);
      return store.tables.update({ ...body, updates: body.updates.map((update) => storedUpdate(update, projectOf)) });
    },

    async tableQuery({ body, signal }, caller) {
      const found: Schemas["TableRowSchema"][] = [];
      for await (const row of rows(body, caller, signal)) found.push(row);
      return { rows: found };
    },

    tableQueryStream: ({ body, signal }, caller) => rows(body, caller, signal),

    async tableQueryStats({ body }, caller) {
      allowRead(caller, body.project_id);
      const [stats] = await store.tables.stats({ project_id: body.project_id, digests: [body.digest] });
      return { count: stats?.count ?? 0 };
    },

    async tableQueryStatsBatch({ body }, caller) {
      allowRead(caller, body.project_id);
      return { tables: await store.tables.stats(body) };
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
