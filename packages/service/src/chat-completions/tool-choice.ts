import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { Constraint } from "./constraint.js";

type ChatRequest = Schemas["ChatCompletionReq"];

/** What a request says about calls of its tools. */
export type ToolChoice =
  | {
      kind: "none" | "auto" | "required";
      /** Names of the functions that may be called; absent: all. */
      allowed?: readonly string[];
    }
  | { kind: "named"; name: string };

/** Throws `invalid` for a choice that the tools of the request do not allow. */
export function toolChoice({ tools = [], tool_choice: given }: ChatRequest): ToolChoice {
  const choice = given ?? (tools.length > 0 ? "auto" : "none");
  if (choice === "auto" && tools.length === 0) return { kind: "none" };
  if (choice !== "none" && tools.length === 0)
    throw new HeddleError("invalid", "needs tools", { loc: ["tool_choice"] });
  if (typeof choice === "string") return { kind: choice };
  const requireTool = (name: string, loc: Loc): void => {
    if (tools.some((tool) => functionOf(tool).name === name)) return;
    throw new HeddleError("invalid", `no tool has the name ${JSON.stringify(name)}`, { loc: ["tool_choice", ...loc] });
  };
  if ("allowed_tools" in choice) {
    const allowed = allowedBy(choice);
    for (const [at, name] of allowed.entries()) requireTool(name, ["allowed_tools", "tools", at, "function", "name"]);
    return { kind: choice.allowed_tools.mode, allowed };
  }
  const { name } = choice.function;
  requireTool(name, ["function", "name"]);
  return { kind: "named", name };
}

const allowedBy = ({ allowed_tools }: Schemas["ChatAllowedToolsChoice"]): string[] =>
  allowed_tools.tools.map((tool) => tool.function.name);

/** The request with just the tools that the model is to know of. */
export function withAllowedTools(request: ChatRequest): ChatRequest {
  const { tools = [], tool_choice: choice } = request;
  if (typeof choice !== "object" || !("allowed_tools" in choice)) return request;
  const allowed: unknown[] = allowedBy(choice);
  return { ...request, tools: tools.filter((tool) => allowed.includes(functionOf(tool).name)) };
}

/** Constrains the text to calls in the form that is read back, with arguments that follow their schemas. */
export function toolCallConstraint(
  { tools = [], parallel_tool_calls: parallel }: ChatRequest,
  choice: ToolChoice,
): Constraint | undefined {
  if (choice.kind !== "required" && choice.kind !== "named") return undefined;
  const called = choice.kind === "named" ? choice.name : undefined;
  const allowed: readonly unknown[] | undefined = choice.kind === "named" ? [choice.name] : choice.allowed;
  const functions = [...tools.entries()]
    .map(([index, tool]) => ({
      ...functionOf(tool),
      loc: ["tools", index, ...(tool.function === undefined ? [] : ["function"]), "parameters"],
    }))
    .filter(({ name }) => allowed === undefined || allowed.includes(name));
  const tags = functions.map(({ name, parameters }) => ({
    type: "tag",
    begin: `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `,
    content: { type: "json_schema", json_schema: parameters ?? { type: "object" } },
    end: "}\n</tool_call>",
  }));
  const once = called !== undefined || !parallel;
  const format = { type: "tags_with_separator", tags, separator: "\n", at_least_one: true, stop_after_first: once };
  const schemaLocs = functions.map(({ loc }) => loc);
  return { output: { type: "structural_tag", tag: { format } }, loc: ["tools"], schemaLocs };
}

interface CalledFunction {
  name?: unknown;
  parameters?: unknown;
}

/** The function of a tool, or the tool itself where it is the bare function. */
function functionOf(tool: Schemas["ChatTool"]): CalledFunction {
  return tool.function ?? (tool as CalledFunction);
}
