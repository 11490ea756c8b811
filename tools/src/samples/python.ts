import { notations, Verbatim, writeLiteral } from "./literals.js";
import type { Literal } from "./literals.js";
import { parameterTexts, sampleFile } from "./sample-request.js";
import type { SampleRequest } from "./sample-request.js";

/** A program that sends the request with the package `requests` and prints the response. */
export function pythonSample(request: SampleRequest): string {
  const { authentication, body, response } = request;
  const { streams, imports, lines } = reading[response];
  const names = [...imports, ...(authentication ? ["os"] : [])];
  const sent = streams
    ? [...callLines("with ", request, " as response:"), ...lines.map(indented)]
    : [...callLines("response = ", request, ""), ...lines];
  const opensFile = body?.kind === "file" || body?.kind === "form";
  return [
    ...names.map((name) => `import ${name}`),
    ...(names.length > 0 ? [""] : []),
    "import requests",
    "",
    ...(opensFile ? [`with open("${sampleFile}", "rb") as file:`, ...sent.map(indented)] : sent),
    "",
  ].join("\n");
}

interface Reading {
  /** The response is read as it arrives. */
  streams: boolean;
  imports: string[];
  /** What follows the request. */
  lines: string[];
}

const reading: Record<SampleRequest["response"], Reading> = {
  none: { streams: false, imports: [], lines: ["response.raise_for_status()"] },
  json: { streams: false, imports: [], lines: ["response.raise_for_status()", "print(response.json())"] },
  bytes: {
    streams: true,
    imports: [],
    lines: [
      "response.raise_for_status()",
      `with open("${sampleFile}", "wb") as file:`,
      "    for chunk in response.iter_content(65536):",
      "        file.write(chunk)",
    ],
  },
  jsonl: {
    streams: true,
    imports: ["json"],
    lines: ["response.raise_for_status()", "for line in response.iter_lines():", "    print(json.loads(line))"],
  },
  sse: {
    streams: true,
    imports: ["json"],
    lines: [
      "response.raise_for_status()",
      "for line in response.iter_lines():",
      '    if line.startswith(b"data: ") and line != b"data: [DONE]":',
      '        print(json.loads(line.removeprefix(b"data: ")))',
    ],
  },
};

function callLines(before: string, request: SampleRequest, after: string): string[] {
  const { operation, authentication, response } = request;
  const options: Record<string, Literal> = {
    ...(authentication === "basic" && { auth: new Verbatim('("api", os.environ["HEDDLE_API_KEY"])') }),
    ...some("headers", { ...bearer(request), ...contentType(request), ...parametersIn("header", request) }),
    ...some("params", parametersIn("query", request)),
    ...bodyArguments(request),
    ...(reading[response].streams && { stream: true }),
  };
  const url = JSON.stringify(request.url);
  const method = `${before}requests.${operation.method}`;
  if (Object.keys(options).length === 0) return [`${method}(${url})${after}`];
  return [
    `${method}(`,
    indented(`${url},`),
    ...Object.entries(options).flatMap(([name, value]) => argumentLines(name, value)),
    `)${after}`,
  ];
}

function argumentLines(name: string, value: Literal): string[] {
  const position = { indent: 4, before: name.length + "=,".length };
  return `    ${name}=${writeLiteral(value, notations.python, position)},`.split("\n");
}

function bearer({ authentication }: SampleRequest): Record<string, Literal> {
  if (authentication !== "bearer") return {};
  return { Authorization: new Verbatim(`f"Bearer {os.environ['HEDDLE_API_KEY']}"`) };
}

function contentType({ body }: SampleRequest): Record<string, Literal> {
  return body?.kind === "file" ? { "Content-Type": body.mediaType } : {};
}

/** `requests` writes numbers as Python does, and booleans with a capital. */
function parametersIn(location: "query" | "header", { parameters }: SampleRequest): Record<string, Literal> {
  const found = parameters.filter((parameter) => parameter.in === location);
  return Object.fromEntries(
    found.map((parameter) => {
      const texts = parameterTexts(parameter);
      return [parameter.name, Array.isArray(parameter.value) ? texts : texts.join()];
    }),
  );
}

function bodyArguments({ body }: SampleRequest): Record<string, Literal> {
  if (body === undefined) return {};
  if (body.kind === "json") return { json: body.value };
  const file = new Verbatim("file");
  return body.kind === "file" ? { data: file } : { data: body.fields, files: { [body.file.name]: file } };
}

function some(name: string, values: Record<string, Literal>): Record<string, Literal> {
  return Object.keys(values).length > 0 ? { [name]: values } : {};
}

function indented(line: string): string {
  return `    ${line}`;
}
