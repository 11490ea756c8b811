import { expect, test } from "vitest";
import { FairShare } from "@heddle/concurrency";
import type { Engine, StatementOptions } from "./engine.js";
import { withSlots } from "./statement-slots.js";

const messages = { key: "", entity: "", all: "" };
const statement = { sql: "SELECT 1" };

test("the reads of an entity divide the cores of the engine, and the first of another one has all", async () => {
  const used: unknown[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const rows = async (_statement: unknown, options?: StatementOptions): Promise<unknown[]> => {
    used.push(options?.settings?.max_threads);
    await ended;
    return [];
  };
  let sharer = { key: "ann", entity: "acme" };
  const slots = new FairShare({ capacity: 8, messages });
  const engine = withSlots({ rows } as unknown as Engine, slots, { sharer: () => sharer, cores: 4 });
  const running: Promise<unknown>[] = [];
  for (let n = 0; n < 5; n++) {
    running.push(engine.rows(statement));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(used).toEqual([undefined, 2, 2, 1, 1]);
  sharer = { key: "eve", entity: "rival" };
  running.push(engine.rows(statement));
  await new Promise((resolve) => setImmediate(resolve));
  end();
  await Promise.all(running);
  expect(used.at(-1)).toBeUndefined();
  expect(await engine.rows(statement)).toEqual([]);
  expect(used.at(-1)).toBeUndefined();
});
