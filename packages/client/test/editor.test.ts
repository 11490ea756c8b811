import { openEditor } from "@heddle/tools/language-service";
import { describe, expect, test } from "vitest";

// What a user of the client sees in an editor, asked of the TypeScript language service.
const editor = openEditor(import.meta.dirname);

function program(body: string): string {
  return `
    import { createTracingClient, createTrainingClient } from "@heddle/client";
    const tracing = createTracingClient({ baseUrl: "http://127.0.0.1:4680" });
    const training = createTrainingClient({ baseUrl: "http://127.0.0.1:4680" });
    ${body}`;
}

describe("hover shows the descriptions of the specification:", () => {
  test("a method", () => {
    expect(editor.hover(program(`tracing./*?*/callRead({ project_id: "acme/demo", id: "1" });`)))
      .toMatchInlineSnapshot(`
        "(property) TracingClient.callRead: (input: CallReadInput, options?: RequestOptions) => Promise<CallReadResult> (+1 overload)
        Read a call

        Reads one call by its id. A call that is missing or deleted returns null, not 404.

        \`POST /call/read\`"
      `);
  });

  test("a field of a request, with its default", () => {
    const text = program(`tracing.callRead({ project_id: "acme/demo", id: "1", /*?*/include_costs: true });`);
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) include_costs?: boolean | undefined
      Whether to add costs under \`summary.weave.costs\`.
      @default false"
    `);
  });

  test("a field whose description is that of its type", () => {
    const text = program(`tracing.callRead({ /*?*/project_id: "acme/demo", id: "1" });`);
    expect(editor.hover(text)).toContain("The project, as `entity/project`.");
  });

  test("a parameter of the path", () => {
    const text = program(
      `training.getArtifactVersion({ /*?*/entity: "acme", project: "demo", name: "a", version: "v0" });`,
    );
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) entity: string
      The entity (person or team) that owns the project; the part of the project id before the slash.
      @example acme"
    `);
  });

  test("a field of a response", () => {
    const text = program(
      `for await (const call of tracing.callsQueryStream({ project_id: "a/b" })) call./*?*/op_name;`,
    );
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) op_name: string
      Ref of the op that ran, or free text."
    `);
  });

  test("an option", () => {
    const text = program(`tracing.readRoot({ /*?*/retryId: "1" });`);
    expect(editor.hover(text)).toContain("Names the logical write");
  });
});

describe("the compiler names the type and the first difference:", () => {
  test("a field is missing", () => {
    expect(errors(`tracing.callRead({ project_id: "acme/demo" });`)).toMatchInlineSnapshot(`
      "Argument of type '{ project_id: string; }' is not assignable to parameter of type 'CallReadReq'.
        Property 'id' is missing in type '{ project_id: string; }' but required in type 'CallReadReq'."
    `);
  });

  test("a field has another type", () => {
    expect(errors(`tracing.callRead({ project_id: "acme/demo", id: 1 });`)).toMatchInlineSnapshot(
      `"Type 'number' is not assignable to type 'string'."`,
    );
  });

  test("a field deep inside has another type", () => {
    const start = `{ project_id: "a/b", op_name: "o", started_at: new Date(), attributes: {}, inputs: {} }`;
    expect(errors(`tracing.callStart({ start: ${start} });`)).toMatchInlineSnapshot(
      `"Type 'Date' is not assignable to type 'Timestamp'."`,
    );
  });

  test("a field that the operation does not have", () => {
    expect(errors(`tracing.callRead({ project_id: "a/b", id: "1", colums: [] });`)).toMatchInlineSnapshot(
      `"Object literal may only specify known properties, and 'colums' does not exist in type 'CallReadReq'."`,
    );
  });

  test("a method that does not exist", () => {
    expect(errors(`tracing.callReed({ project_id: "a/b", id: "1" });`)).toMatchInlineSnapshot(
      `"Property 'callReed' does not exist on type 'TracingClient'. Did you mean 'callRead'?"`,
    );
  });

  test("a response used as something else", () => {
    expect(errors(`const id: string = await tracing.callRead({ project_id: "a/b", id: "1" });`)).toMatchInlineSnapshot(
      `"Type 'CallReadRes' is not assignable to type 'string'."`,
    );
  });

  test("an operator that queries do not have", () => {
    const query = `{ $expr: { $equals: [{ $literal: 1 }, { $literal: 1 }] } }`;
    expect(errors(`tracing.callsQueryStream({ project_id: "a/b", query: ${query} });`)).toMatchInlineSnapshot(
      `"Object literal may only specify known properties, and '$equals' does not exist in type 'EqOperation | AndOperation | OrOperation | NotOperation | GtOperation | GteOperation | LtOperation | LteOperation | InOperation | ContainsOperation'."`,
    );
  });

  test("a stream read as a list", () => {
    expect(errors(`for (const call of tracing.callsQueryStream({ project_id: "a/b" })) call;`)).toMatchInlineSnapshot(
      `"Type 'AsyncIterable<CallSchema>' must have a '[Symbol.iterator]()' method that returns an iterator."`,
    );
  });
});

function errors(body: string): string {
  return editor.errorsOf(program(body)).join("\n");
}
