import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Renderer } from "../corpus/render.js";
import { renderer } from "../corpus/render.js";

export const starterDirectory = fileURLToPath(new URL("../../models/starter/", import.meta.url));

export async function chatTemplateSource(): Promise<string> {
  const source = await readFile(new URL("../tokenizer/chat-template.jinja", import.meta.url), "utf8");
  return source.trimEnd();
}

export async function starterRenderer(): Promise<Renderer> {
  return renderer(await chatTemplateSource());
}
