import { expect, test } from "vitest";
import { describeStatement } from "./statement.js";

test.each([
  ["SELECT 1", "select", undefined],
  ["  -- note\n/* more */ (SELECT 1) FORMAT CSV", "select", "CSV"],
  ["WITH 1 AS x SELECT x\nFORMAT JSONEachRow", "select", "JSONEachRow"],
  ["SELECT 1 FORMAT TSV SETTINGS max_threads = 1, join_algorithm = 'hash'", "select", "TSV"],
  ["SELECT 1 SETTINGS max_threads = 1 FORMAT TSV;", "select", "TSV"],
  ["SELECT format FROM t", "select", undefined],
  ["SELECT (SELECT 1 FORMAT x) FROM 'FORMAT CSV'", "select", undefined],
  ["SHOW TABLES FORMAT TSV", "other", "TSV"],
  ["INSERT INTO t (a, b) FORMAT TabSeparated", "insert", "TabSeparated"],
  ["insert into `a;b` settings x = 1 format CSV\n1;2;3", "insert", "CSV"],
  ["INSERT INTO t VALUES (';'); (1)", "insert", undefined],
  ["INSERT INTO t SELECT 1 FORMAT Null", "insert", undefined],
  ["CREATE TABLE t (a UInt8) ENGINE = Memory", "other", undefined],
  ["", "other", undefined],
])("%j is read without its data", (sql, kind, format) => {
  expect(describeStatement(sql)).toMatchObject({ kind, format, multiple: false });
});

test.each(["SELECT 1; SELECT 2", "SELECT 'a\\'; b'; DROP TABLE t", ";;SELECT 1;;\nSELECT 2"])(
  "%j is more than one statement",
  (sql) => {
    expect(describeStatement(sql).multiple).toBe(true);
  },
);

test.each(["SELECT ';'; -- ; \n/* ; */ ;", 'SELECT "a;b", `c;d`', "SELECT 'it''s; \\'; fine'"])(
  "%j is one statement",
  (sql) => {
    expect(describeStatement(sql).multiple).toBe(false);
  },
);

test("a statement of megabytes is read quickly", () => {
  const list = Array.from({ length: 200_000 }, (_, index) => `'it''s \\' ${index}'`).join(", ");
  const started = performance.now();
  describeStatement(`SELECT 'x' IN (${list})`);
  expect(performance.now() - started).toBeLessThan(3000);
});
