import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Operation {
  operationId: string;
  tags: string[];
  security?: object[];
  [extension: `x-heddle-${string}`]: unknown;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

const interfaces = ["tracing", "training"] as const;
const text = (name: string) => readFileSync(new URL(`../dist/${name}.json`, import.meta.url), "utf8");

/** One line per operation: group | operationId | method and path | what marks it, such as second paths. */
function operationLines(name: string): string[] {
  const { paths } = JSON.parse(text(name)) as Document;
  const lines = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      [operation.tags.join(), operation.operationId, `${method.toUpperCase()} ${path}`, ...marks(operation)].join(
        " | ",
      ),
    ),
  );
  return lines.toSorted();
}

/** `public` and every extension of the operation with its value. */
function marks(operation: Operation): string[] {
  const extensions = Object.entries(operation)
    .filter(([key]) => key.startsWith("x-heddle-"))
    .map(([key, value]) => {
      const words = typeof value === "object" && value !== null ? Object.values(value) : [value];
      return [key.replace("x-heddle-", ""), ...words.filter((word) => word !== true)].join(" ");
    });
  return [...(operation.security?.length === 0 ? ["public"] : []), ...extensions.toSorted()];
}

// Client libraries and users rely on every line of these files. To accept a change: vitest run spec --update
test.each(interfaces)("the %s document has the recorded operations", async (name) => {
  await expect(`${operationLines(name).join("\n")}\n`).toMatchFileSnapshot(`operations/${name}.txt`);
});

/** Methods and paths of both documents, without the names of parameters; marked operations are additions of Heddle. */
function requestsOf(extension: boolean): string[] {
  return interfaces.flatMap((name) => {
    const { paths } = JSON.parse(text(name)) as Document;
    return Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, operation]) => (operation["x-heddle-extension"] === true) === extension)
        .map(([method]) => `${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, "{}")}`),
    );
  });
}

const required = readFileSync(new URL("operations/required.txt", import.meta.url), "utf8")
  .trim()
  .split("\n");

test("every operation of the interfaces that Heddle is compatible with is described, with its method and path", () => {
  expect(required).toHaveLength(113);
  expect(requestsOf(false).toSorted()).toEqual(required.toSorted());
});

test("every other operation is marked as an extension", () => {
  const extensions = requestsOf(true);
  expect(extensions.length).toBeGreaterThan(0);
  expect(extensions.filter((request) => required.includes(request))).toEqual([]);
});

test.each(interfaces)("the %s document refers to nothing outside itself", (name) => {
  const outside = [...text(name).matchAll(/"\$ref": ?"([^"]*)"/g)].filter(([, ref]) => !ref?.startsWith("#/"));
  expect(outside).toEqual([]);
  expect(text(name)).not.toContain('"externalValue"');
});
