import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { existsSync } from "node:fs";
import { chatMl, headers, openChatModel } from "@heddle/chat-format/testing";
import { openConstraints } from "@heddle/structured-outputs";
import { expect, test } from "vitest";
import { fixtures } from "../../test/weight-files.js";
import { hasGguf } from "../export/gguf-model.js";
import type { ModelFamily } from "../model/config.js";
import { families } from "./families.js";
import { readModelConfig } from "./model-directory.js";

const guide = fileURLToPath(new URL("../../../docs/guides/models.md", import.meta.url));

const turns = (user: string, end: string, assistant: string, tools = "") =>
  `${tools}{%- for message in messages %}{{- (${JSON.stringify(user)} if message.role == "user" else ${JSON.stringify(assistant)}) + message.content + ${JSON.stringify(end)} }}{%- endfor %}{%- if add_generation_prompt %}{{- ${JSON.stringify(assistant)} }}{%- endif %}`;
const bracketed = `{%- for message in messages %}{%- if message.role == "user" %}{{- "[INST] " + message.content + " [/INST]" }}{%- elif message.tool_calls %}{{- "[TOOL_CALLS]" + message.tool_calls | tojson }}{%- else %}{{- message.content + eos_token }}{%- endif %}{%- endfor %}`;

/** ChatML with calls as Qwen3.5 has them. */
const functionTags = turns(
  "<|im_start|>user\n",
  "<|im_end|>\n",
  "<|im_start|>assistant\n",
  `{%- if tools %}{{- "<tool_call>\n<function=name>\n<parameter=key>\nvalue\n</parameter>\n</function>\n</tool_call>" + tools | tojson }}{%- endif %}`,
);

/** Names of the families, and a template in the form of their published models. */
const published: Record<ModelFamily, { name: string; template: string; form: string }> = {
  llama: { name: "Llama 2, 3", template: headers, form: "headers" },
  mistral: { name: "Mistral", template: bracketed, form: "`[INST]`" },
  qwen2: { name: "Qwen2, Qwen2.5", template: chatMl, form: "ChatML" },
  qwen3: { name: "Qwen3", template: chatMl, form: "ChatML, reasoning" },
  qwen3_moe: { name: "Qwen3 MoE", template: chatMl, form: "ChatML, reasoning" },
  smollm3: { name: "SmolLM3", template: chatMl, form: "ChatML, reasoning" },
  granite: {
    name: "Granite 3",
    template: turns(
      "<|start_of_role|>user<|end_of_role|>",
      "<|end_of_text|>",
      "<|start_of_role|>assistant<|end_of_role|>",
      `{%- if tools %}{{- "Respond only with <|tool_call|> followed by a JSON list: " + tools | tojson }}{%- endif %}`,
    ),
    form: "`<\\|start_of_role\\|>`",
  },
  olmo2: { name: "OLMo 2", template: turns("<|user|>\n", "\n", "<|assistant|>\n"), form: "`<\\|user\\|>`" },
  phi3: {
    name: "Phi-3, Phi-4 mini",
    template: turns(
      "<|user|>",
      "<|end|>",
      "<|assistant|>",
      `{%- for message in messages if message.tools %}{{- "<|tool|>" + message.tools + "<|/tool|>" }}{%- endfor %}`,
    ),
    form: "`<\\|user\\|>`",
  },
  gemma3_text: {
    name: "Gemma 3 (text)",
    template: turns("<start_of_turn>user\n", "<end_of_turn>\n", "<start_of_turn>model\n"),
    form: "`<start_of_turn>`",
  },
  qwen3_5_text: { name: "Qwen3.5 (text)", template: functionTags, form: "ChatML, reasoning" },
  qwen3_next: { name: "Qwen3-Next", template: chatMl, form: "ChatML, reasoning" },
  qwen3_5_moe_text: { name: "Qwen3.5 MoE (text)", template: functionTags, form: "ChatML, reasoning" },
  gpt_oss: {
    name: "gpt-oss",
    template: turns(
      "<|start|>user<|message|>",
      "<|end|>",
      "<|start|>assistant",
      `{%- if tools %}{{- "Calls go to=functions.name, in <|channel|>commentary" }}{%- endif %}`,
    ),
    form: "channels, reasoning",
  },
};

/** Families of which the tests compare a model, and an adapter with its gradients, with transformers and PEFT. */
async function compared() {
  const models = new Set<ModelFamily>();
  const adapters = new Set<ModelFamily>();
  for (const name of await readdir(join(fixtures, "models"))) {
    const { family } = await readModelConfig(join(fixtures, "models", name));
    models.add(family);
    if (existsSync(join(fixtures, "adapters", `${name}-lora`))) adapters.add(family);
  }
  return { models, adapters };
}

/** What a template does with a message, with tools and with a constraint. */
async function tried(template: string) {
  const model = await openChatModel(template);
  const text = await model.renderText({ messages: [{ role: "user", content: "Which colour?" }] });
  const { toolCalls: calls } = model.outputFormat({});
  const constraints = openConstraints(model.tokenizer, { vocabularySize: model.tokenizer.vocabularySize });
  const session = await constraints.compile({ type: "choice", choices: ["red", "blue"] });
  session.close();
  await constraints.close();
  return { rendersMessages: text.includes("Which colour?"), calls };
}

/** Families share templates. */
const triedTemplates = new Map<string, ReturnType<typeof tried>>();

async function row(family: ModelFamily, { models, adapters }: Awaited<ReturnType<typeof compared>>) {
  const { name, template, form } = published[family];
  const trying = triedTemplates.get(template) ?? tried(template);
  triedTemplates.set(template, trying);
  const { rendersMessages, calls } = await trying;
  const isCompared = models.has(family) ? "yes" : "no";
  const { experts, hasLinearAttention } = families[family];
  const all = hasLinearAttention ? "all but linear attention" : "all projections";
  const adapted = experts ? "attention" : all;
  return [
    `${name} (\`${families[family].architecture}\`)`,
    (experts || hasLinearAttention) && isCompared === "yes" ? "adapter" : isCompared,
    isCompared,
    adapters.has(family) ? adapted : "no",
    rendersMessages ? form : "no",
    calls === undefined ? "`<tool_call>`" : `its own (${calls})`,
    "yes",
    hasGguf(family) ? "yes" : "no",
  ];
}

test("the guide says what each family can do, as the tests compare it", async () => {
  const known = await compared();
  const rows: string[][] = [];
  for (const family of Object.keys(families) as ModelFamily[]) rows.push(await row(family, known));
  const [, head = "", , ...written] =
    /(\| Family \|.*)\n(\|[ |:-]+)\n((?:\|.*\n)+)/u.exec(await readFile(guide, "utf8")) ?? [];
  expect(head).toContain("Structured outputs");
  const table = rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  expect(written.join("")).toBe(table);
});
