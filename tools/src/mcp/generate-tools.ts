import { join } from "node:path";
import { isEntry } from "../entry.js";
import { banner, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";
import { documentsIn } from "../model/documents.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import { toolsOf } from "./tools-of.js";

const declaration = `import type { JSONObject } from "@modelcontextprotocol/server";

/** One operation that reads, as a tool for agents. */
export interface AgentTool {
  /** The operationId. */
  name: string;
  interface: "tracing" | "training";
  /** The tag: "Call Pages". */
  group: string;
  title: string;
  description: string;
  /** The result is the bytes of a file. */
  bytes?: true;
  /** An object schema that stands alone. Parameters and members of the body are its properties. */
  inputSchema: {
    type: "object";
    properties: JSONObject;
    required: string[];
    [keyword: string]: unknown;
  };
}

export declare const agentTools: readonly AgentTool[];
`;

/** The module of the tools for agents, and its declaration: a literal of this size is nothing to compile. */
function toolFiles(models: readonly Model[]): Files {
  const head = banner(models.map(({ source }) => source).join(" and "));
  return {
    "agent-tools.js": `${head}export const agentTools = ${JSON.stringify(toolsOf(models), undefined, 1)};\n`,
    "agent-tools.d.ts": head + declaration,
  };
}

/** Writes the tools of all bundled documents below `target`. */
export function generateTools(dist: string, target: string): void {
  writeFiles(target, toolFiles(documentsIn(dist).map((name) => readModel(join(dist, name)))));
}

if (isEntry(import.meta.url)) generateTools(process.argv[2] ?? "spec/dist", process.argv[3] ?? "src/generated");
