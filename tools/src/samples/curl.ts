import { notations, writeLiteral } from "./literals.js";
import { parameterTexts, sampleFile } from "./sample-request.js";
import type { SampleBody, SampleRequest } from "./sample-request.js";

/** A command line for curl, for POSIX shells. */
export function curlSample(request: SampleRequest): string {
  const { operation, authentication, url, query, parameters, body, response } = request;
  const headers = parameters
    .filter((parameter) => parameter.in === "header")
    .map((parameter) => header(parameter.name, parameterTexts(parameter).join(",")));
  const first = [
    "curl",
    ...(response === "jsonl" || response === "sse" ? ["-N"] : []),
    ...(operation.method === methodOf(body) ? [] : [`-X ${operation.method.toUpperCase()}`]),
    ...(authentication === "basic" ? ['-u "api:$HEDDLE_API_KEY"'] : []),
    quote(url + query),
  ];
  return `${[
    first.join(" "),
    ...(authentication === "bearer" ? ['-H "Authorization: Bearer $HEDDLE_API_KEY"'] : []),
    ...headers,
    ...bodyOptions(body),
    ...(response === "bytes" ? [`-o ${sampleFile}`] : []),
  ].join(" \\\n  ")}\n`;
}

/** The method that curl uses by itself. */
function methodOf(body: SampleBody | undefined): string {
  if (body === undefined) return "get";
  return body.kind === "file" ? "put" : "post";
}

function bodyOptions(body: SampleBody | undefined): string[] {
  if (body === undefined) return [];
  // -T sends the file as it is read; --data-binary would read it into memory first.
  if (body.kind === "file") return [header("Content-Type", body.mediaType), `-T ${sampleFile}`];
  if (body.kind === "json") {
    const text = writeLiteral(body.value, notations.json, { indent: 2, before: "-d ''".length });
    return [header("Content-Type", "application/json"), `-d ${quote(text)}`];
  }
  // -F reads a file where a value begins with @ or <, and ends it at a semicolon.
  const fields = Object.entries(body.fields).map(([name, value]) => {
    return `${/^[@<]|;/.test(value) ? "--form-string" : "-F"} ${quote(`${name}=${value}`, true)}`;
  });
  return [...fields, `-F ${quote(`${body.file.name}=@${sampleFile}`, true)}`];
}

function header(name: string, value: string): string {
  return `-H ${quote(`${name}: ${value}`)}`;
}

/** A word of a POSIX shell: in single quotes where it needs them, or `always`. */
function quote(text: string, always = false): string {
  if (!always && /^[\w./:%@+=,-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
