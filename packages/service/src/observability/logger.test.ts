import { expect, test } from "vitest";
import { openLogger } from "./logger.js";
import { hideSecrets } from "./secrets.js";
import type { LogSettings } from "../config/config.js";

function open(settings: Partial<LogSettings> = {}, secrets: string[] = []) {
  const lines: string[] = [];
  const log = openLogger(
    { format: "text", level: "info", ...settings },
    { write: (line) => lines.push(line), hide: hideSecrets(secrets) },
  );
  return { log, lines };
}

const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

test("text has the time, the level where it is special, the message and the fields", () => {
  const { log, lines } = open({ level: "debug" });
  log.info("engine host ready");
  log.warn({ path: "/a b", count: 3 }, "the disk is full");
  expect(lines[0]).toMatch(new RegExp(`^${time} engine host ready\n$`));
  expect(lines[1]).toMatch(new RegExp(`^${time} warn the disk is full path="/a b" count=3\n$`));
});

test("a message cannot look like another line, nor act on a terminal", () => {
  const { log, lines } = open();
  log.info("no\n2026-01-01T00:00:00.000Z all is well\r\u001b[2Jgone\u009b");
  expect(lines[0]?.split("\n").slice(1)).toEqual(["  2026-01-01T00:00:00.000Z all is well\\x0d\\x1b[2Jgone\\x9b", ""]);
});

test("json is one object per line", () => {
  const { log, lines } = open({ format: "json" });
  log.error({ request_id: "r" }, "two\nlines");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "error",
    time: expect.stringMatching(time),
    request_id: "r",
    msg: "two\nlines",
  });
});

test("lines below the level are left out", () => {
  const { log, lines } = open({ level: "warn" });
  log.info("a");
  log.debug("b");
  log.warn("c");
  expect(lines).toHaveLength(1);
});

test("an unexpected error has its name, message and frames, and nothing that it carries", () => {
  const { log, lines } = open();
  const error = Object.assign(new TypeError("no such thing"), { row: "payload-1", cause: new Error("payload-2") });
  log.error({ err: error }, "unexpected error");
  expect(lines[0]).toMatch(new RegExp(`^${time} error TypeError: no such thing\n +at .*logger\\.test\\.ts`));
  expect(lines[0]).not.toMatch(/payload/);
});

test("errors that quote what they could not read are logged without the quotation", () => {
  const { log, lines } = open();
  const parse = () => JSON.parse("[secret-value") as unknown;
  expect(parse).toThrow("secret-value");
  try {
    parse();
  } catch (error) {
    log.error({ err: error }, "unexpected error");
  }
  const refused = Object.assign(new Error("Cannot parse 'secret-value' as Int64\nrow: secret-value"), {
    name: "StatementError",
  });
  log.error({ err: refused }, "unexpected error");
  expect(lines[0]).toMatch(/SyntaxError: Unexpected token … is not valid JSON\n/);
  expect(lines[1]).toMatch(/StatementError: Cannot parse … as Int64\n/);
  expect(lines.join("")).not.toMatch(/secret/);
});

test("keys and passwords of the settings never appear, however they are spelt", () => {
  const key = 'p"a/ss wörd';
  const { log, lines } = open({ format: "json" }, [key, "Bearer sk-123456"]);
  log.info(`of postgres://ann:${encodeURIComponent(key)}@db/heddle, ${key}, sk-123456`);
  expect(lines[0]).toMatch(/of postgres:\/\/ann:\*\*\*@db\/heddle, \*\*\*, \*\*\*"/);
});
