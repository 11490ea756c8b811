import { expect, test } from "vitest";
import { readMultipart } from "./multipart.js";

const type = 'multipart/form-data; boundary="b"';
const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const read = (text: string): Array<[string, string]> => readMultipart(type, Buffer.from(text));

test("fields are read with their line breaks, empty ones too", () => {
  expect(read(`${field("query", "SELECT 1")}${field("param_x", "a\r\n--\r\nü")}${field("y", "")}--b--\r\n`)).toEqual([
    ["query", "SELECT 1"],
    ["param_x", "a\r\n--\r\nü"],
    ["y", ""],
  ]);
});

test("a form that is cut off is refused", () => {
  expect(() => read(field("query", "SELECT 1"))).toThrow(/ends too early/);
  expect(() => read("--b\r\nContent-Disposition: form-data")).toThrow(/ends too early/);
});

test("a form without a boundary or with a file is refused", () => {
  expect(() => readMultipart("multipart/form-data", Buffer.from("x"))).toThrow(/boundary/);
  const file = `--b\r\nContent-Disposition: form-data; name="t"; filename="t.csv"\r\n\r\n1\r\n--b--\r\n`;
  expect(() => read(file)).toThrow(/external tables/);
});
