import { createWriteStream } from "node:fs";
import { open, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { HeddleError } from "@heddle/errors";
import type { ReadEntry } from "tar";
import { Parser } from "tar";
import type { HttpClient } from "../http-client.js";
import { isJsonObject } from "@heddle/exact-json";
import { errorOf, readResponse } from "../server-response.js";
import { toHeddleError } from "../server-unreachable.js";

const configFile = "adapter_config.json";
const weightsFile = "adapter_model.safetensors";
const adapterFiles = [configFile, weightsFile];

const server = "the training server";
/** Limit for each pause of the download. */
const timeoutMs = 120_000;
const maxRedirects = 3;
/** What stores of files say of an address whose time is over. */
const expiredStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 410]);
const maxHeaderBytes = 64 * 1024 * 1024;

interface Destination {
  /** Exists. */
  directory: string;
  /** Value of `base_model_name_or_path`; the server's is a path of its own machine. */
  baseModel: string;
}

/** Downloads the archive of an adapter, writes its two files in PEFT layout, and returns their names. */
export async function downloadArchive(
  http: HttpClient,
  archivePath: string,
  { directory, baseModel }: Destination,
): Promise<string[]> {
  try {
    const response = await followRedirects(http, archivePath);
    if (response.status >= 300) throw errorOf(server, await readResponse(response));
    await unpack(response.stream, directory);
  } catch (error) {
    if (isTarError(error))
      throw new HeddleError("failed", `${server} sent an archive that cannot be read`, { cause: error });
    throw toHeddleError(error);
  }
  await completeConfig(directory, baseModel);
  return adapterFiles;
}

/**
 * Does the same from an address for each file.
 *
 * @param sign asks for the addresses: `urls` by the name of the file. They expire.
 */
export async function downloadSignedFiles(
  http: HttpClient,
  sign: () => Promise<unknown>,
  { directory, baseModel }: Destination,
): Promise<string[]> {
  let urls = await sign();
  for (const name of adapterFiles) {
    try {
      let response = await followRedirects(http, addressOf(urls, name));
      if (expiredStatuses.has(response.status)) {
        response.stream.destroy();
        urls = await sign();
        response = await followRedirects(http, addressOf(urls, name));
      }
      if (response.status >= 300) throw errorOf(server, await readResponse(response));
      await pipeline(response.stream, createWriteStream(join(directory, name), { flags: "wx" }));
    } catch (error) {
      throw toHeddleError(error);
    }
  }
  await completeConfig(directory, baseModel);
  return adapterFiles;
}

function addressOf(signed: unknown, name: string): string {
  const urls = isJsonObject(signed) && isJsonObject(signed["urls"]) ? signed["urls"] : {};
  const url = urls[name];
  if (typeof url === "string") return url;
  const names = Object.keys(urls).join(", ") || "no file";
  throw new HeddleError("failed", `${server} exported no ${name}, but ${names}`);
}

async function followRedirects(http: HttpClient, start: string) {
  let path = start;
  for (let redirects = 0; ; redirects++) {
    const response = await http({ method: "GET", path, timeoutMs });
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || location === undefined) return response;
    response.stream.destroy();
    const isHttp = URL.canParse(location) ? /^https?:$/u.test(new URL(location).protocol) : location.startsWith("/");
    if (!isHttp || redirects === maxRedirects) {
      throw new HeddleError(
        "unsupported",
        `${server} offers its adapters at an address that cannot be downloaded from`,
      );
    }
    path = location;
  }
}

/** Unpacks the files of the adapter, whatever directory of the archive they are in. */
async function unpack(archive: NodeJS.ReadableStream, directory: string): Promise<void> {
  const written = new Map<string, Promise<void>>();
  const parser = new Parser({
    strict: true,
    onReadEntry(entry: ReadEntry) {
      const name = basename(entry.path);
      if (entry.type !== "File" || !adapterFiles.includes(name) || written.has(name)) {
        entry.resume();
        return;
      }
      const file = createWriteStream(join(directory, name), { flags: "wx" });
      entry.pipe(file);
      written.set(name, finished(file));
    },
  });
  await pipeline(archive, parser as unknown as NodeJS.WritableStream);
  await Promise.all(written.values());
  const missing = adapterFiles.find((name) => !written.has(name));
  if (missing !== undefined) throw new HeddleError("failed", `${server} sent an archive without ${missing}`);
}

function isTarError(error: unknown): boolean {
  return error instanceof Error && "tarCode" in error;
}

/**
 * Completes `adapter_config.json`. Servers leave `target_modules` empty, which PEFT reads as the default of the
 * architecture: the adapted modules are those that have tensors.
 */
async function completeConfig(directory: string, baseModel: string): Promise<void> {
  const config = parseObject(await readFile(join(directory, configFile), "utf8"));
  if (!config || typeof config["r"] !== "number" || typeof config["lora_alpha"] !== "number") {
    throw new HeddleError("failed", `${server} sent an ${configFile} without r and lora_alpha`);
  }
  const modules = await adaptedModules(join(directory, weightsFile));
  const complete = {
    ...config,
    peft_type: "LORA",
    base_model_name_or_path: baseModel,
    target_modules: config["target_modules"] ?? modules,
  };
  await writeFile(join(directory, configFile), `${JSON.stringify(complete, null, 2)}\n`);
}

/** Returns the last names of the modules that a safetensors file has factors for (`q_proj`). */
async function adaptedModules(path: string): Promise<string[]> {
  const handle = await open(path, "r");
  try {
    const length = Buffer.alloc(8);
    await handle.read(length, 0, 8, 0);
    const headerBytes = Number(length.readBigUInt64LE());
    if (headerBytes > maxHeaderBytes)
      throw new HeddleError("failed", `${server} sent an ${weightsFile} that cannot be read`);
    const header = Buffer.alloc(headerBytes);
    await handle.read(header, 0, headerBytes, 8);
    const names = Object.keys(parseObject(header.toString("utf8")) ?? {});
    const modules = names.flatMap((name) => /(?:^|\.)([^.]+)\.lora_A\.(?:[^.]+\.)?weight$/u.exec(name)?.[1] ?? []);
    if (modules.length === 0) throw new HeddleError("failed", `${server} sent an ${weightsFile} without an adapter`);
    return [...new Set(modules)].toSorted();
  } finally {
    await handle.close();
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
