import { describe, expect, test } from "vitest";
import { asBuiltinClass, objectClasses } from "./classes.js";
import { isAlias, isObjectId, isTag, parseVersionLabel } from "./names.js";

describe("what a stored value is", () => {
  test.each([
    ['{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{}}', "op", null, null],
    ['{"_type":"CustomWeaveType","weave_type":{"type":"PIL.Image.Image"}}', "object", null, null],
    ['{"_class_name":"Dataset","_bases":["Object","BaseModel"]}', "object", "Dataset", "Dataset"],
    ['{"_class_name":"MyModel","_bases":["Model","Object","BaseModel"]}', "object", "Model", "MyModel"],
    ['{"_class_name":"Deep","_bases":["Mine","Scorer","Object","BaseModel"]}', "object", "Scorer", "Deep"],
    ['{"_class_name":"Leaderboard","_bases":["BaseObject","BaseModel"]}', "object", "Leaderboard", "Leaderboard"],
    ['{"_class_name":"X","_bases":["BaseModel"]}', "object", null, null],
    ['{"_class_name":"X","_bases":["BaseModel","Object"]}', "object", null, null],
    ['{"_class_name":"X","_bases":"Object"}', "object", null, null],
    ['{"_bases":["Object","BaseModel"]}', "object", null, null],
    ["[1]", "object", null, null],
    ["null", "object", null, null],
  ])("%s", (val, kind, baseObjectClass, leafObjectClass) => {
    expect(objectClasses(val)).toEqual({
      kind,
      base_object_class: baseObjectClass,
      leaf_object_class: leafObjectClass,
    });
  });

  test("a built-in class is written into the value", () => {
    const val = asBuiltinClass('{"name": "board", "n": 1.0}', "Leaderboard");
    expect(val).toBe(
      '{"name": "board", "n": 1.0,"_type":"Leaderboard","_class_name":"Leaderboard","_bases":["BaseObject","BaseModel"]}',
    );
    expect(objectClasses(val).base_object_class).toBe("Leaderboard");
    expect(asBuiltinClass(val, "Leaderboard")).toBe(val);
  });

  test("a value that cannot be of the built-in class is refused", () => {
    expect(() => asBuiltinClass("{}", "Spreadsheet")).toThrow(/no built-in object class/);
    expect(() => asBuiltinClass("[]", "Provider")).toThrow(/must be an object/);
    expect(() => asBuiltinClass('{"_class_name":"Model"}', "Provider")).toThrow(/of class Model/);
  });
});

describe("names", () => {
  test("of objects", () => {
    expect(["answer", "Evaluation.predict-1_x", "x".repeat(128)].every(isObjectId)).toBe(true);
    expect(["", "a b", "a/b", "a:b", "x".repeat(129)].some(isObjectId)).toBe(false);
  });

  test.each([
    "café",
    "cafe\u0301",
    "计算",
    "résumé",
    "深度學習",
    "оценка",
    "हिन्दी",
    "עברית",
    "日本語",
    "ไทย",
    "²Ⅷ",
    "𠮷".repeat(128),
  ])("of objects are of every script: %s", (name) => expect(isObjectId(name)).toBe(true));

  test.each(["🙂", "计 算", "日本、語", "é".repeat(129), "𠮷".repeat(129), "a\u200bb", "\ud800", "a%20b", "«x»"])(
    "of objects have letters and digits only, at most 128 characters: %j",
    (name) => expect(isObjectId(name)).toBe(false),
  );

  test("of tags", () => {
    expect(["good", "very good", "été-1", "हिन्दी", "e\u0301", "x".repeat(256)].every(isTag)).toBe(true);
    expect(["", " good", "good ", "a  b", "a/b", "a\n", "x".repeat(257)].some(isTag)).toBe(false);
  });

  test("of aliases", () => {
    expect(["prod", "my alias", "v3x", "version"].every(isAlias)).toBe(true);
    expect(["", "  ", "a/b", "a:b", "latest", "v3", "x".repeat(129)].some(isAlias)).toBe(false);
  });

  test("of versions", () => {
    const digest = "2N7W72R7BZaqqYKdkGLpQYl6XgSTLRDmLz9blXlWwGE";
    expect(parseVersionLabel("latest")).toEqual({ by: "latest" });
    expect(parseVersionLabel("v12")).toEqual({ by: "index", index: 12 });
    expect(parseVersionLabel("prod")).toEqual({ by: "alias", alias: "prod" });
    expect(parseVersionLabel(digest)).toEqual({ by: "digest", digest });
  });
});
