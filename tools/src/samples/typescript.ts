import { resultOf } from "../client/result.js";
import type { Model } from "../model/model.js";
import { pascalCase } from "../model/names.js";
import { notations, Verbatim, writeLiteral } from "./literals.js";
import type { Literal } from "./literals.js";
import { sampleFile } from "./sample-request.js";
import type { SampleBody, SampleRequest } from "./sample-request.js";

/** A module that sends the request with `@heddle/client` and prints the result. */
export function typescriptSample(model: Model, request: SampleRequest): string {
  const { interface: client } = model;
  const { authentication, baseUrl, operation } = request;
  const make = `create${pascalCase(client)}Client`;
  const apiKey = new Verbatim("process.env.HEDDLE_API_KEY");
  const { imports, before, after } = statement(model, request);
  return [
    ...[...imports, ...bodyImports(request.body)].map(({ name, from }) => `import { ${name} } from "${from}";`),
    `import { ${make} } from "@heddle/client";`,
    "",
    call(`const ${client} = ${make}(`, { baseUrl, ...(authentication && { apiKey }) }, ");"),
    "",
    call(`${before}${client}.${operation.id}(`, inputOf(request), `)${after}`),
    "",
  ].join("\n");
}

interface Import {
  name: string;
  from: string;
}

interface Statement {
  imports: Import[];
  before: string;
  after: string;
}

/** What is around the call of the client. */
function statement({ document }: Model, { operation, response }: SampleRequest): Statement {
  const { readers } = resultOf(operation, document);
  const imports: Import[] = [];
  if (response === "none") return { imports, before: "await ", after: ";" };
  if (response === "jsonl" || response === "sse" || readers.includes("readPages")) {
    return { imports, before: "for await (const item of ", after: ") {\n  console.log(item);\n}" };
  }
  if (response === "bytes") {
    const after = `;\nawait writeFile("${sampleFile}", bytes);`;
    return { imports: [{ name: "writeFile", from: "node:fs/promises" }], before: "const bytes = await ", after };
  }
  // Where the media type of the request decides that of the response, the client returns bytes.
  if (readers.includes("readBytes")) {
    return {
      imports,
      before: "const bytes = await ",
      after: ";\nconsole.log(new TextDecoder().decode(bytes));",
    };
  }
  return { imports, before: "const result = await ", after: ";\nconsole.log(result);" };
}

function call(before: string, argument: Record<string, Literal>, after: string): string {
  if (Object.keys(argument).length === 0) return before + after;
  const [rest = ""] = after.split("\n");
  const position = { indent: 0, before: before.length + rest.length };
  return before + writeLiteral(argument, notations.typescript, position) + after;
}

/** The one argument of an operation: members of path, query, headers and body together. */
function inputOf({ operation, parameters, body }: SampleRequest): Record<string, Literal> {
  const members = Object.fromEntries(parameters.map(({ name, value }) => [name, value]));
  if (body === undefined) return members;
  if (body.kind === "form") {
    const { name, content } = body.file;
    return { ...members, ...body.fields, [name]: new Verbatim(`new Blob([${JSON.stringify(content)}])`) };
  }
  if (body.kind === "file") return { ...members, body: new Verbatim(`await openAsBlob("${sampleFile}")`) };
  if (operation.body?.kind !== "raw") return { ...members, ...(body.value as Record<string, Literal>) };
  const text = writeLiteral(body.value, notations.typescript, { indent: 2, before: "body: JSON.stringify(),".length });
  return { ...members, mediaType: "application/json", body: new Verbatim(`JSON.stringify(${text})`) };
}

function bodyImports(body: SampleBody | undefined): Import[] {
  return body?.kind === "file" ? [{ name: "openAsBlob", from: "node:fs" }] : [];
}
