import { expect, test } from "vitest";
import { parseExactExamples } from "./exact-examples.js";
import { operationSamples } from "./operation-samples.js";
import type { Sample } from "./operation-samples.js";
import { parseModel } from "../model/read-model.js";

// Samples of the other kinds are in test/golden/samples.

const done = { 200: { description: "Done.", content: media({ schema: { type: "object" } }) } };

/** The samples of the one operation of a document of the training interface. */
function samplesOf(path: string, method: string, operation: object, yaml = "{}"): Record<Sample["language"], string> {
  const model = parseModel(
    {
      openapi: "3.1.0",
      info: { title: "One", version: "1" },
      "x-heddle-interface": "training",
      servers: [{ url: "http://127.0.0.1:4680" }],
      tags: [{ name: "Things" }],
      security: [{ bearer: [] }],
      paths: {
        [path]: {
          [method]: {
            operationId: "act",
            tags: ["Things"],
            "x-heddle-access": { right: "write", project: "none" },
            responses: done,
            ...operation,
          },
        },
      },
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    },
    "training.json",
  );
  const samples = operationSamples(model, model.operations[0]!, new Map(Object.entries(parseExactExamples(yaml))));
  return Object.fromEntries(samples.map(({ language, code }) => [language, code])) as Record<
    Sample["language"],
    string
  >;
}

function media(content: object) {
  return { "application/json": content };
}

function parameter(location: string, name: string, example: unknown, schema: object = { type: "string" }) {
  return { in: location, name, required: true, schema, example };
}

test("the training interface takes the key as a bearer token", () => {
  const { sh, python } = samplesOf("/jobs", "post", {});
  expect(sh).toBe(`curl -X POST http://127.0.0.1:4680/jobs \\
  -H "Authorization: Bearer $HEDDLE_API_KEY"
`);
  expect(python).toBe(`import os

import requests

response = requests.post(
    "http://127.0.0.1:4680/jobs",
    headers={"Authorization": f"Bearer {os.environ['HEDDLE_API_KEY']}"},
)
response.raise_for_status()
print(response.json())
`);
});

test("a streamed body is a file that is not read into memory", () => {
  const { sh, ts, python } = samplesOf("/contents", "post", {
    "x-heddle-raw-body": true,
    "x-heddle-streamed-body": true,
    requestBody: { required: true, content: { "application/octet-stream": { example: "hello" } } },
  });
  expect(sh).toContain(`  -H 'Content-Type: application/octet-stream' \\\n  -T file.bin\n`);
  expect(ts).toContain(`import { openAsBlob } from "node:fs";
import { createTrainingClient } from "@heddle/client";
`);
  expect(ts).toContain(
    `const result = await training.act({ body: await openAsBlob("file.bin") });\nconsole.log(result);\n`,
  );
  expect(python).toContain(`with open("file.bin", "rb") as file:
    response = requests.post(
        "http://127.0.0.1:4680/contents",
        headers={
            "Authorization": f"Bearer {os.environ['HEDDLE_API_KEY']}",
            "Content-Type": "application/octet-stream",
        },
        data=file,
    )
    response.raise_for_status()
`);
});

test("a list with a cursor is read item by item where the client does that", () => {
  const schema = {
    type: "object",
    properties: { data: { type: "array", items: { type: "object" } }, has_more: { type: "boolean" } },
  };
  const { ts, sh } = samplesOf("/jobs", "get", {
    parameters: [
      parameter("query", "project", "acme/demo & sons"),
      { in: "query", name: "after", schema: { type: "string" } },
    ],
    responses: { 200: { description: "A page.", content: media({ schema }) } },
  });
  expect(ts).toContain(`for await (const item of training.act({ project: "acme/demo & sons" })) {
  console.log(item);
}
`);
  expect(sh).toContain("curl 'http://127.0.0.1:4680/jobs?project=acme/demo%20%26%20sons' \\\n");
});

test("numbers keep the spelling of the example", () => {
  const yaml = "actRequest: { value: { score: 1.50, big: 9007199254740993, rates: [1.0, 6.0e-8, 7] } }";
  const schema = { type: "object" };
  const examples = { actRequest: { value: { score: 1.5 } } };
  const requestBody = { required: true, content: media({ schema, examples }) };
  const { sh, ts, python } = samplesOf("/rates", "post", { requestBody }, yaml);
  const text = `{"score": 1.50, "big": 9007199254740993, "rates": [1.0, 6.0e-8, 7]}`;
  expect(sh).toContain(`-d '${text}'`);
  expect(python).toContain(`json=${text},`);
  expect(ts).toContain("{\n  score: 1.50,\n  big: 9007199254740993,\n  rates: [1.0, 6.0e-8, 7],\n}");
});

test("repeated parameters and headers are sent as the operation takes them", () => {
  const { sh, ts, python } = samplesOf("/runs", "delete", {
    parameters: [
      parameter("query", "ids", ["a", "it's"], { type: "array", items: { type: "string" } }),
      parameter("query", "forced", true, { type: "boolean" }),
      parameter("header", "X-Reason", "it's old"),
    ],
  });
  expect(sh).toContain("curl -X DELETE 'http://127.0.0.1:4680/runs?ids=a&ids=it'\\''s&forced=true' \\\n");
  expect(sh).toContain(String.raw`-H 'X-Reason: it'\''s old'`);
  expect(ts).toContain(`  ids: ["a", "it's"],\n  forced: true,\n  "X-Reason": "it's old",\n`);
  expect(python).toContain(`    params={"ids": ["a", "it's"], "forced": "true"},\n`);
});

test("a form field that curl would read as a file is sent as text", () => {
  const { sh } = samplesOf("/files", "post", {
    requestBody: {
      required: true,
      content: {
        "multipart/form-data": {
          schema: {
            type: "object",
            required: ["name", "title", "file"],
            properties: {
              name: { type: "string" },
              title: { type: "string" },
              digest: { type: "string" },
              file: { type: "string", format: "binary" },
            },
          },
          example: { name: "@passwords", title: "plain", digest: "2cf24d", file: "hello" },
        },
      },
    },
  });
  expect(sh).toContain("  --form-string 'name=@passwords' \\\n  -F 'title=plain' \\\n  -F 'file=@file.bin'\n");
});

test("a required value without an example is reported with its location", () => {
  const schema = { type: "string" };
  const parameters = [{ in: "query", name: "id", required: true, schema }];
  expect(() => samplesOf("/things", "get", { parameters })).toThrow(
    "/paths/~1things/get/parameters/0: samples need an example of a required parameter",
  );
  const requestBody = { required: true, content: media({ schema: { type: "object" } }) };
  expect(() => samplesOf("/things", "post", { requestBody })).toThrow(
    "/paths/~1things/post/requestBody: samples need an example of the body as application/json",
  );
});
