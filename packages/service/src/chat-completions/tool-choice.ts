import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { Constraint } from "./constraint.js";

type ChatRequest = Schemas["ChatCompletionReq"];

/** What a request says about calls of its tools. */
export type ToolChoice = { kind: "none" | "auto" | "required" } | { kind: "named"; name: string };

/** Throws `invalid` for a choice that the tools of the request do not allow. */
export function toolChoice({ tools = [], tool_choice: given }: ChatRequest): ToolChoice {
  const choice = given ?? (tools.length > 0 ? "auto" : "none");
  if (choice === "auto" && tools.length === 0) return { kind: "none" };
  if (choice !== "none" && tools.length === 0)
    throw new HeddleError("invalid", "needs tools", { loc: ["tool_choice"] });
  if (typeof choice === "string") return { kind: choice };
  const { name } = choice.function;
  if (tools.some((tool) => functionOf(tool).name === name)) return { kind: "named", name };
  throw new HeddleError("invalid", `no tool has the name ${JSON.stringify(name)}`, {
    loc: ["tool_choice", "function", "name"],
  });
}

/** Constrains the text to calls in the form that is read back, with arguments that follow their schemas. */
export function toolCallConstraint(
  { tools = [], parallel_tool_calls: parallel }: ChatRequest,
  choice: ToolChoice,
): Constraint | undefined {
  if (choice.kind !== "required" && choice.kind !== "named") return undefined;
  const called = choice.kind === "named" ? choice.name : undefined;
  const functions = [...tools.entries()]
    .map(([index, tool]) => ({
      ...functionOf(tool),
      loc: ["tools", index, ...(tool.function === undefined ? [] : ["function"]), "parameters"],
    }))
    .filter(({ name }) => called === undefined || name === called);
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
