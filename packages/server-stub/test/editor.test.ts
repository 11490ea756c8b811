import { openEditor } from "@heddle/tools/language-service";
import { describe, expect, test } from "vitest";

// What somebody who implements the interfaces sees in an editor, asked of the TypeScript language service.
const editor = openEditor(import.meta.dirname);

function server(calls: string): string {
  return `
    import { rawJson } from "@heddle/server-stub";
    import { createTracingServer } from "@heddle/server-stub/tracing";
    createTracingServer({ calls: { ${calls} } });`;
}

describe("hover shows the descriptions of the specification:", () => {
  test("a handler", () => {
    expect(editor.hover(server(`/*?*/callRead: () => ({ call: null })`))).toMatchInlineSnapshot(`
      "(method) callRead?(request: CallReadRequest, caller: unknown): Outcome<CallReadResponse>
      Read a call

      Reads one call by its id. A call that is missing or deleted returns null, not 404.

      \`POST /call/read\`"
    `);
  });

  test("a field of the body", () => {
    const text = server(`callRead({ body }) { body./*?*/include_costs; return { call: null }; }`);
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) include_costs: boolean
      Whether to add costs under \`summary.weave.costs\`.
      @default false"
    `);
  });

  test("a field of the body that another type describes", () => {
    const text = server(`callRead({ body }) { body./*?*/project_id; return { call: null }; }`);
    expect(editor.hover(text)).toContain("The project, as `entity/project`.");
  });

  test("a parameter of the path", () => {
    const text = `
      import type { ObjSetAliasesRequest as Request } from "@heddle/server-stub/tracing";
      export const nameOf = ({ params }: Request) => params./*?*/object_id;`;
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) object_id: string
      Name of the object.
      @example questions"
    `);
  });

  test("a field of the response", () => {
    const text = server(`callStart: ({ body }) => ({ id: "1", /*?*/trace_id: "2" })`);
    expect(editor.hover(text)).toMatchInlineSnapshot(`
      "(property) trace_id: string
      Id of the trace, as sent or made."
    `);
  });
});

describe("the compiler names the type of the response and the first difference:", () => {
  test("a field is missing", () => {
    expect(errors(`callStart: ({ body }) => ({ id: "1" })`)).toMatchInlineSnapshot(`
      "Type '({ body }: CallStartRequest) => { id: string; }' is not assignable to type '(request: CallStartRequest, caller: unknown) => Outcome<CallStartRes>'.
        Type '{ id: string; }' is not assignable to type 'Outcome<CallStartRes>'.
          Property 'trace_id' is missing in type '{ id: string; }' but required in type 'CallStartRes'."
    `);
  });

  test("a field has another type", () => {
    expect(errors(`callStart: ({ body }) => ({ id: 1, trace_id: "2" })`)).toMatchInlineSnapshot(`
      "Type '({ body }: CallStartRequest) => { id: number; trace_id: string; }' is not assignable to type '(request: CallStartRequest, caller: unknown) => Outcome<CallStartRes>'.
        Type '{ id: number; trace_id: string; }' is not assignable to type 'Outcome<CallStartRes>'.
          Type '{ id: number; trace_id: string; }' is not assignable to type 'CallStartRes'.
            Types of property 'id' are incompatible.
              Type 'number' is not assignable to type 'string'."
    `);
  });

  test("an asynchronous handler", () => {
    expect(errors(`callRead: async ({ body }) => ({ call: { id: body.id } })`)).toMatchInlineSnapshot(`
      "Type '({ body }: CallReadRequest) => Promise<{ call: { id: string; }; }>' is not assignable to type '(request: CallReadRequest, caller: unknown) => Outcome<CallReadRes>'.
        Type 'Promise<{ call: { id: string; }; }>' is not assignable to type 'Outcome<CallReadRes>'.
          Type 'Promise<{ call: { id: string; }; }>' is not assignable to type 'Promise<CallReadRes | Reply<CallReadRes>>'.
            Type '{ call: { id: string; }; }' is not assignable to type 'CallReadRes | Reply<CallReadRes>'.
              Type '{ call: { id: string; }; }' is not assignable to type 'CallReadRes'.
                Types of property 'call' are incompatible.
                  Type '{ id: string; }' is missing the following properties from type 'CallSchema': project_id, op_name, trace_id, started_at, and 2 more."
    `);
  });

  test("an item of a stream", () => {
    const text = `async *callsQueryStream({ body }) { yield { id: body.project_id }; }`;
    expect(errors(text)).toMatchInlineSnapshot(`
      "Type '({ body }: CallsQueryStreamRequest) => AsyncGenerator<{ id: string; }, void, any>' is not assignable to type '(request: CallsQueryStreamRequest, caller: unknown) => Outcome<CallsQueryStreamResponse>'.
        Type 'AsyncGenerator<{ id: string; }, void, any>' is not assignable to type 'Outcome<CallsQueryStreamResponse>'.
          Type 'AsyncGenerator<{ id: string; }, void, any>' is not assignable to type 'CallsQueryStreamResponse'.
            The types returned by '[Symbol.asyncIterator]().next(...)' are incompatible between these types.
              Type 'Promise<IteratorResult<{ id: string; }, void>>' is not assignable to type 'Promise<IteratorResult<CallSchema, any>>'.
                Type 'IteratorResult<{ id: string; }, void>' is not assignable to type 'IteratorResult<CallSchema, any>'.
                  Type 'IteratorYieldResult<{ id: string; }>' is not assignable to type 'IteratorResult<CallSchema, any>'.
                    Type 'IteratorYieldResult<{ id: string; }>' is not assignable to type 'IteratorYieldResult<CallSchema>'.
                      Type '{ id: string; }' is missing the following properties from type 'CallSchema': project_id, op_name, trace_id, started_at, and 2 more."
    `);
  });

  test("something else than an object", () => {
    expect(errors(`callStart: () => "done"`)).toMatchInlineSnapshot(`
      "Type '() => string' is not assignable to type '(request: CallStartRequest, caller: unknown) => Outcome<CallStartRes>'.
        Type 'string' is not assignable to type 'Outcome<CallStartRes>'."
    `);
  });

  test("a value where free JSON is text", () => {
    const call = `{ project_id: "a/b", id: "1", op_name: "o", trace_id: "2", started_at: "", attributes: {}, inputs: {} }`;
    expect(errors(`callRead: () => ({ call: ${call} })`)).toMatchInlineSnapshot(`
      "Type '() => { call: { project_id: string; id: string; op_name: string; trace_id: string; started_at: string; attributes: {}; inputs: {}; }; }' is not assignable to type '(request: CallReadRequest, caller: unknown) => Outcome<CallReadRes>'.
        Type '{ call: { project_id: string; id: string; op_name: string; trace_id: string; started_at: string; attributes: {}; inputs: {}; }; }' is not assignable to type 'Outcome<CallReadRes>'.
          Type '{ call: { project_id: string; id: string; op_name: string; trace_id: string; started_at: string; attributes: {}; inputs: {}; }; }' is not assignable to type 'CallReadRes'.
            The types of 'call.attributes' are incompatible between these types.
              Type '{}' is missing the following properties from type 'RawJson': text, value, toJSON"
    `);
  });

  test("a field that the body does not have", () => {
    expect(errors(`callRead: ({ body }) => ({ call: body.call })`)).toMatchInlineSnapshot(
      `"Property 'call' does not exist on type 'CallReadReq'."`,
    );
  });

  test("a handler that does not exist", () => {
    expect(errors(`callReed: () => ({ call: null })`)).toMatchInlineSnapshot(
      `"Object literal may only specify known properties, but 'callReed' does not exist in type 'Partial<CallsHandlers<unknown>>'. Did you mean to write 'callRead'?"`,
    );
  });
});

function errors(calls: string): string {
  return editor.errorsOf(server(calls)).join("\n");
}
