import { describe, expect, test } from "vitest";
import { fileDigest, isContentDigest, tableDigest, valueDigest } from "./digest.js";
import { canonicalJson } from "@heddle/exact-json";

const row1 = "2N7W72R7BZaqqYKdkGLpQYl6XgSTLRDmLz9blXlWwGE";
const row2 = "pb0tS76HLW8CsoAkPvwQy2NU1YoOCOXkQZ6a6AAh6M8";

describe("digests that clients compute too", () => {
  test("of files", () => {
    expect(fileDigest(Buffer.from("hello"))).toBe("LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ");
    expect(fileDigest(new Uint8Array())).toBe("47DEQpj8HBSaXYTImWX5JCeuQeRkm5NMpJWZG3hSuFU");
  });

  test.each([
    ['{"b":1,"a":"café","c":[1.0,true,null]}', "R2M3PXSm1uYFfXqr6kJEloA3kyQLPXV2bVAPYGX91XI"],
    ['{"question":"2+2?","answer":4}', row1],
    ['{"question":"café","answer":1.5}', row2],
    [
      '{"s":"\u007f\\n\\"\\\\/😀","n":[1e-1,0.0000001,1E16,1e15,100,-0.0,1e22,123456789012345678]}',
      "oWrBxBxBUYW0s6zytCUBsLUSBXb51nkkCJ6eNrYYLT8",
    ],
    [
      '{"_type":"Dataset","name":"d","description":null,"rows":"weave:///e/p/table/abc","_class_name":"Dataset","_bases":["Object","BaseModel"]}',
      "lY7lwFYYJGe3sfRYGcsUjrDeJT9m5S91GAEGjX3tCYk",
    ],
  ])("of the value %s", (text, digest) => {
    expect(valueDigest(text)).toBe(digest);
  });

  test("of tables, which depend on the order of rows", () => {
    expect(tableDigest([row1, row2])).toBe("b916f02e5a70109f2b81b5335475308e3ec946d1b682a4019367c27028202400");
    // Row digests of older servers, which hashed keys in the order received.
    expect(
      tableDigest(["DOd9lilYnSn5frbz1nGPoZ09sXuPn68lYqftPXuW95A", "ccCBdw6Vy1XbxbYfnvQRISSLNSbRhmv6ySNnpxqkIYw"]),
    ).toBe("2424579814a42b26caa851354814cba264d6a519b5b9fd3213a2749196d6f8fd");
    expect(tableDigest([])).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  test.each([
    // What older servers hashed: the same texts in insertion order.
    ['{"b": 1, "a": "caf\\u00e9", "c": [1.0, true, null]}', "e6RSJJgJXgRnkhDQ8SW89MKgWsguhL6UEaRfbX7va4E"],
    [
      '{"_type": "Dataset", "name": "d", "description": null, "rows": "weave:///e/p/table/abc", "_class_name": "Dataset", "_bases": ["Object", "BaseModel"]}',
      "sqz2kAQg2mMb5qPBNcjZYaYRjPrWZiXpTyqHZLDX03E",
    ],
  ])("of a text taken as it is: %s", (text, digest) => {
    expect(fileDigest(text)).toBe(digest);
    expect(valueDigest(text)).not.toBe(digest);
  });

  test("are recognised as version labels", () => {
    expect(isContentDigest(row1)).toBe(true);
    expect(isContentDigest(tableDigest([]))).toBe(true);
    expect(isContentDigest("production")).toBe(false);
    expect(isContentDigest(`${row1}x`)).toBe(false);
  });
});

describe("canonical JSON", () => {
  test.each([
    ["spacing", ' { "b" : [ 1 , 2 ] , "a" : { } } ', '{"a": {}, "b": [1, 2]}'],
    [
      "integers beyond double",
      "[18446744073709551616, 9007199254740993, -0]",
      "[18446744073709551616, 9007199254740993, 0]",
    ],
    [
      "floats",
      "[1.0, 1E5, 0.0001, 0.00001, 123456789.125, -2.50, 5e-324]",
      "[1.0, 100000.0, 0.0001, 1e-05, 123456789.125, -2.5, 5e-324]",
    ],
    [
      "the switch to exponents",
      "[1e15, 1e16, 9999999999999998.0, 1.5e300]",
      "[1000000000000000.0, 1e+16, 9999999999999998.0, 1.5e+300]",
    ],
    [
      "what exceeds a double",
      "[1e400, -1e400, NaN, Infinity, -Infinity]",
      "[Infinity, -Infinity, NaN, Infinity, -Infinity]",
    ],
    ["repeated keys", '{"a": 1, "b": 2, "a": 3}', '{"a": 3, "b": 2}'],
    ["a key repeated at once", '{"a": 1, "a": 2, "b": {"c": 1, "c": 3}}', '{"a": 2, "b": {"c": 3}}'],
    [
      "a key repeated after others in order",
      '{"a": 1, "b": 2, "c": 3, "b": 4, "d": 5}',
      '{"a": 1, "b": 4, "c": 3, "d": 5}',
    ],
    ["keys with escapes", '{"\\u0041": 1, "B": {}, "\\u00e9": 2}', '{"A": 1, "B": {}, "\\u00e9": 2}'],
    ["lone surrogates", '["\\uD800", "x\\udc00"]', '["\\ud800", "x\\udc00"]'],
    ["escapes", '["\\/", "\\u0041\\u001f", "\\b\\f\\t"]', '["/", "A\\u001f", "\\b\\f\\t"]'],
    [
      "keys by code point",
      '{"😀": 1, "\uffee": 2, "z": 3, "": 4}',
      '{"": 4, "z": 3, "\\uffee": 2, "\\ud83d\\ude00": 1}',
    ],
    ["scalars", ' "x" ', '"x"'],
  ])("%s", (_, text, canonical) => {
    expect(canonicalJson(text)).toBe(canonical);
  });

  test("refuses what is not a document", () => {
    for (const text of ["", "{", "[1", '{"a" 1}', "[1 2]", '"a', "{1:2}", "1 2", "[".repeat(5000)]) {
      expect(() => canonicalJson(text), text.slice(0, 20)).toThrow(/not a JSON document/);
    }
  });
});
