import { expect, test } from "vitest";
import { HeddleError } from "./heddle-error.js";
import { mapErrors } from "./map-errors.js";
import { withLoc } from "./with-loc.js";

const invalid = (loc?: (string | number)[]) =>
  new HeddleError("invalid", "must be a name", { loc, details: { digest: "abc" }, cause: "the database" });

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

test("the loc of an error is relative to the caller's arguments, however deep it was thrown", async () => {
  const create = () => withLoc(["rows", 2], () => Promise.reject(invalid(["val"])));
  await expect(withLoc(["table"], create)).rejects.toMatchObject({
    code: "invalid",
    message: "must be a name",
    loc: ["table", "rows", 2, "val"],
    details: { digest: "abc" },
    cause: "the database",
  });
  const sync = () =>
    withLoc(["obj"], () => {
      throw invalid([]);
    });
  expect(thrownBy(sync)).toMatchObject({ loc: ["obj"] });
});

test("one error that several callers wait for gets the prefix of each", async () => {
  const shared = Promise.reject(invalid(["val"]));
  await expect(withLoc(["a"], () => shared)).rejects.toMatchObject({ loc: ["a", "val"] });
  await expect(withLoc(["b"], () => shared)).rejects.toMatchObject({ loc: ["b", "val"] });
});

test("an error points to the line that threw it", () => {
  const error = invalid(["val"]);
  expect(thrownBy(() => withLoc(["a"], () => rethrow(error)))).toMatchObject({ stack: error.stack });
});

test("results, defects and errors about no argument pass unchanged", async () => {
  expect(withLoc(["a"], () => 1)).toBe(1);
  expect(await withLoc(["a"], async () => 2)).toBe(2);
  for (const error of [new TypeError("a defect"), invalid()]) {
    expect(thrownBy(() => withLoc(["a"], () => rethrow(error)))).toBe(error);
  }
});

function rethrow(error: unknown): never {
  throw error;
}

test("an error with other members keeps its cause and the place where it was thrown", async () => {
  const error = invalid(["val"]);
  const changed = error.with({ code: "corrupt", message: "the file: must be a name", loc: undefined });
  expect(changed).toMatchObject({ code: "corrupt", details: { digest: "abc" }, cause: "the database" });
  expect(changed.loc).toBeUndefined();
  expect(changed.stack).toBe(error.stack?.replace("must be", "the file: must be"));
});

test("what is not a HeddleError passes unchanged, thrown or rejected with", async () => {
  const defect = new TypeError("undefined is not a function");
  const change = (error: HeddleError) => error.with({ message: "changed" });
  const thrown = thrownBy(() =>
    mapErrors(change, () => {
      throw defect;
    }),
  );
  expect(thrown).toBe(defect);
  await expect(mapErrors(change, () => Promise.reject(defect))).rejects.toBe(defect);
  await expect(mapErrors(change, () => Promise.reject(invalid()))).rejects.toMatchObject({ message: "changed" });
  expect(mapErrors(change, () => 1)).toBe(1);
});
