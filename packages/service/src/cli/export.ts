import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { pipeline } from "node:stream/promises";
import { exportCreate } from "@heddle/client/tracing";
import type { Connection, ExportCreateReq } from "@heddle/client/tracing";
import { visibleText } from "@heddle/exact-json";
import { ConfigError } from "../config/config-error.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";
import { asking, connectRemote, projectOf, remoteUsage } from "./remote.js";
import { selectionOf, selectionOptions, selectionUsage } from "./selection.js";
import { bytes } from "./terminal/format.js";
import { standardOutput } from "./terminal/output.js";
import type { Output } from "./terminal/output.js";

const formats = ["jsonl", "csv", "chat_jsonl", "parquet"] as const;

const usage = `heddle export [OPTION]...

Writes calls, the oldest first, with what went in and came out. Rows are written while they are read, so that the size
does not matter.

${selectionUsage}
  --format FORMAT   jsonl (default), csv, parquet, or chat_jsonl: the messages of recorded chat completions
  --select NAME     a property, or a path as inputs.question; may be repeated; default: whole calls
  -o, --output FILE write to this file, which is there only when it is whole; default: stdout
${remoteUsage}`;

export const command: Command = {
  usage: () => usage,
  run: async (args) => exportCommand(args, process.env, standardOutput(process.env)),
};

/** `heddle export` */
export async function exportCommand(args: string[], env: NodeJS.ProcessEnv, output: Output): Promise<void> {
  const values = readArguments(args);
  const format = formats.find((each) => each === values.format);
  if (format === undefined)
    throw new UsageError(`--format must be one of ${formats.join(", ")}, not "${values.format}"`, usage);
  if (format === "parquet" && values.output === undefined && output.width !== undefined)
    throw new UsageError("--format parquet is not text for a terminal: name a file with --output", usage);
  const selection = selectionOf(values, usage);
  const connection = connectRemote(values.url, env);
  await asking(connection, async () => {
    const projectId = await projectOf(connection, values.project);
    const request = { ...selection, project_id: projectId, format, ...(values.select && { select: values.select }) };
    const content = counted(await download(connection, request), output);
    if (values.output === undefined) await toOutput(content, output);
    else await toFile(content, values.output);
  });
}

/** The rows as they come. The token of the link is a key of its own, so that the address of the service is enough. */
async function download(
  connection: Connection<"tracing">,
  request: ExportCreateReq,
): Promise<AsyncIterable<Uint8Array>> {
  const { url } = await exportCreate(connection, request);
  const token = new URL(url).pathname.split("/").at(-1);
  const response = await connection.fetch(new Request(`${connection.baseUrl}/exports/${token}`));
  if (response.ok && response.body !== null) return response.body;
  const text = await response.text();
  throw new ConfigError(`${connection.baseUrl} sends no export: ${response.status} ${visibleText(text.slice(0, 300))}`);
}

const quietMs = 2000;

/** Says on stderr how far it has come. What breaks off is an error that says so. */
async function* counted(content: AsyncIterable<Uint8Array>, output: Output): AsyncGenerator<Uint8Array> {
  let [size, last] = [0, Date.now()];
  try {
    for await (const chunk of content) {
      size += chunk.length;
      if (Date.now() - last >= quietMs) {
        output.note(`${bytes(size)} so far`);
        last = Date.now();
      }
      yield chunk;
    }
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`The export broke off after ${bytes(size)} (${cause}) and is not whole. Try again.`);
  }
  output.note(`${bytes(size)} exported`);
}

async function toOutput(content: AsyncIterable<Uint8Array>, output: Output): Promise<void> {
  if (output.width === undefined) {
    for await (const chunk of content) await output.write(chunk);
    return;
  }
  // A terminal obeys what payloads may hold; files and pipes get every byte.
  const decoder = new TextDecoder();
  for await (const chunk of content) await output.write(visibleText(decoder.decode(chunk, { stream: true })));
}

async function toFile(content: AsyncIterable<Uint8Array>, file: string): Promise<void> {
  const partial = `${file}.part`;
  try {
    await pipeline(content, createWriteStream(partial));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function readArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        ...selectionOptions,
        format: { type: "string", default: "jsonl" },
        select: { type: "string", multiple: true },
        output: { type: "string", short: "o" },
        url: { type: "string" },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
