import { expect, test } from "vitest";
import { ConfigError, readConfig } from "./config.js";

test("defaults work without any variable", () => {
  expect(readConfig({}, "/home/me")).toEqual({
    host: "127.0.0.1",
    port: 4680,
    data_dir: "/home/me/.heddle",
    api_key: undefined,
    default_entity: "local",
    clickhouse_url: undefined,
    blobs_dir: "/home/me/.heddle/blobs",
  });
});

test("an empty variable means unset", () => {
  expect(readConfig({ HEDDLE_PORT: "", HEDDLE_API_KEY: "" }).port).toBe(4680);
});

test.each([
  [{ HEDDLE_PROT: "1" }, /HEDDLE_PROT is not a setting/],
  [{ HEDDLE_PORT: "http" }, /HEDDLE_PORT must be a whole number/],
  [{ HEDDLE_PORT: "70000" }, /HEDDLE_PORT/],
  [{ HEDDLE_API_KEY: "short" }, /at least 40/],
  [{ HEDDLE_API_KEY: `${"a".repeat(40)}-` }, /at least 40/],
  [{ HEDDLE_DEFAULT_ENTITY: "a/b" }, /HEDDLE_DEFAULT_ENTITY/],
  [{ HEDDLE_CLICKHOUSE_URL: "clickhouse:8123" }, /http or https URL/],
  [{ HEDDLE_BLOBS_URL: "s3://bucket/x" }, /must be a directory/],
])("%o is refused with one clear line", (env, message) => {
  expect(() => readConfig(env)).toThrow(ConfigError);
  expect(() => readConfig(env)).toThrow(message);
});
