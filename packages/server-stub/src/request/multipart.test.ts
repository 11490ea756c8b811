import { describe, expect, test } from "vitest";
import { readMultipart } from "./multipart.js";

const formType = "multipart/form-data; boundary=xyz";

function read(body: string, type = formType) {
  const parts = readMultipart(Buffer.from(body, "latin1"), type, ["file"]);
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [
      name,
      typeof part === "string" ? part : { ...part, bytes: Buffer.from(part.bytes).toString("latin1") },
    ]),
  );
}

test("text and files come in any order, and bytes stay what they are", () => {
  const body =
    'ignored\r\n--xyz\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: x/y\r\n\r\n\xff\r\n--xy\r\n' +
    "\r\n--xyz\r\ncontent-disposition: form-data; name=project_id\r\n\r\na/b\r\n--xyz--\r\nignored";
  expect(read(body)).toEqual({
    file: { bytes: "\xff\r\n--xy\r\n", filename: "a.bin", mediaType: "x/y" },
    project_id: "a/b",
  });
});

test("names are unquoted, a file may have none, an empty part is empty", () => {
  const body =
    "--xyz\r\ncontent-disposition: form-data; name=\"file\"; filename*=utf-8''na%C3%AFve.txt\r\n\r\n\r\n" +
    '--xyz\r\ncontent-disposition: form-data; name="a\\"b"\r\n\r\n\r\n--xyz\r\n\r\nnobody\r\n--xyz--';
  expect(read(body)).toEqual({
    file: { bytes: "", filename: "na\u00efve.txt", mediaType: "application/octet-stream" },
    'a"b': "",
  });
  expect(read("--xyz--")).toEqual({});
});

test("a boundary may be quoted", () => {
  expect(
    read(
      '--a b\r\ncontent-disposition: form-data; name="x"\r\n\r\n1\r\n--a b--',
      'multipart/form-data; boundary="a b"',
    ),
  ).toEqual({
    x: "1",
  });
});

test("headers full of blanks are read in milliseconds, not in minutes", () => {
  const part = `--xyz\r\ncontent-type: a${" ".repeat(16_000)}b\r\n\r\n\r\n`;
  expect(read(`${part.repeat(100)}--xyz--`)).toEqual({});
});

describe("refused", () => {
  test.each([
    ["no boundary", "--xyz--", "multipart/form-data", 415, "send multipart/form-data with a boundary"],
    ["another type", "--xyz--", "multipart/mixed; boundary=xyz", 415, "send multipart/form-data with a boundary"],
    ["an empty body", "", formType, 400, "the multipart body is broken: its boundary is missing"],
    [
      "another boundary",
      "--abc\r\n\r\n\r\n--abc--",
      formType,
      400,
      "the multipart body is broken: its boundary is missing",
    ],
    [
      "headers without end",
      "--xyz\r\ncontent-disposition: a",
      formType,
      400,
      "the multipart body is broken: a part without an end of its headers",
    ],
    ["a part without end", "--xyz\r\n\r\nabc", formType, 400, "the multipart body is broken: a part that does not end"],
    [
      "no end of all",
      "--xyz\r\n\r\nabc\r\n--xyz",
      formType,
      400,
      "the multipart body is broken: its boundary is missing",
    ],
    [
      "too many parts",
      `${"--xyz\r\n\r\na\r\n".repeat(101)}--xyz--`,
      formType,
      400,
      "a multipart body has at most 100 parts",
    ],
  ])("%s", (_, body, type, status, message) => {
    expect(() => read(body, type)).toThrow(expect.objectContaining({ status, message }));
  });
});
