import type { ClickHouseSettings } from "@clickhouse/client";
import { expect, test } from "vitest";
import type { Engine } from "./engine.js";
import { withReplicas } from "./replicated-engine.js";
import { StatementError } from "./statement-error.js";

function recording(fail: (attempt: number) => unknown) {
  const sent: (ClickHouseSettings | undefined)[] = [];
  const engine = {
    async command(_: unknown, options?: { settings?: ClickHouseSettings }) {
      sent.push(options?.settings);
      const failure = fail(sent.length);
      if (failure !== undefined) throw failure;
    },
  } as unknown as Engine;
  return { sent, engine: withReplicas(engine) };
}

test("a change waits for the server that it is sent to, not for one that is down", async () => {
  const { sent, engine } = recording(() => undefined);
  const settings = { mutations_sync: "2", lightweight_deletes_sync: "2", allow_nondeterministic_mutations: 1 } as const;
  await engine.command({ sql: "DELETE FROM t WHERE 1" }, { settings });
  await engine.command({ sql: "SELECT 1" });
  expect(sent).toEqual([
    { mutations_sync: "1", lightweight_deletes_sync: "1", allow_nondeterministic_mutations: 1 },
    undefined,
  ]);
});

test("an ALTER that another one came before is sent again, and any other error is thrown", async () => {
  const outrun = recording((attempt) =>
    attempt < 3 ? new StatementError("later", 517, "CANNOT_ASSIGN_ALTER") : undefined,
  );
  await outrun.engine.command({ sql: "ALTER TABLE t" });
  expect(outrun.sent).toHaveLength(3);
  const wrong = recording(() => new StatementError("wrong", 62, "SYNTAX_ERROR"));
  await expect(wrong.engine.command({ sql: "ALTER TABLE t" })).rejects.toMatchObject({ number: 62 });
  expect(wrong.sent).toHaveLength(1);
});
