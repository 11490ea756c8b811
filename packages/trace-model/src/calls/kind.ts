import { forEachMember, stringMember, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leafAt } from "../query/leaf.js";

/** What a call is, to a reader of its trace. */
const callKinds = ["model", "tool", "retrieval", "agent", "scorer", "other"] as const;
export type CallKind = (typeof callKinds)[number];

/** The words of SDKs and conventions, in lower case. What is not here, as `chain`, says nothing. */
const wordsOf: Readonly<Record<Exclude<CallKind, "other">, readonly string[]>> = {
  model: "model llm chat chat_model completion text_completion generation generate_content embedding embeddings".split(
    " ",
  ),
  tool: ["tool", "function", "execute_tool", "tool_call", "ai.toolcall"],
  retrieval: ["retrieval", "retriever", "search", "rag", "reranker", "rerank"],
  agent: ["agent", "invoke_agent", "create_agent"],
  scorer: ["scorer", "evaluator", "evaluation", "human_evaluator"],
};
const kindsByWord = new Map(
  callKinds.flatMap((kind) => (kind === "other" ? [] : wordsOf[kind].map((word) => [word, kind] as const))),
);

/** By the usual text of the word, which needs no reading. */
const kindsByText = new Map([...kindsByWord].map(([word, kind]) => [`"${word}"`, kind]));

/** The kind that the first known word of some JSON texts means; undefined where there is none. */
export function kindOfWords(texts: ReadonlyArray<JsonText | undefined>): CallKind | undefined {
  for (const text of texts) {
    if (text === undefined) continue;
    const kind = kindsByText.get(text) ?? kindsByWord.get((stringValue(text) ?? "").toLowerCase());
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/**
 * The kind that a call states in its attributes; undefined where they say nothing. Such a call is a model when it used
 * tokens itself, a scorer by the name of its op, else other: the store tells, which knows what calls used.
 */
export function statedKind(attributes: JsonText): CallKind | undefined {
  // Found by a quick search first: attributes may be long, and this is asked of each call that is stored.
  if (!/"kind"|span\.kind|"operation"|"gen_ai|"score"/.test(attributes)) return undefined;
  const members = new Map<string, JsonText>();
  forEachMember(attributes, (key, from, to) => {
    if (looksAt.has(key)) members.set(key, attributes.slice(from, to));
  });
  const at = (key: string, ...path: string[]) => {
    const member = members.get(key);
    return member === undefined ? undefined : leafAt(member, path);
  };
  const kind = kindOfWords([
    at("weave", "kind"),
    // What spans are mapped to.
    at("kind"),
    at("openinference", "span", "kind"),
    at("openinference.span.kind"),
    at("operation"),
    at("gen_ai", "operation", "name"),
    at("gen_ai.operation.name"),
  ]);
  if (kind !== undefined) return kind;
  // As scores are marked that are recorded, or made by evaluations of the Weave SDK.
  const isScore =
    at("_weave_eval_meta", "score") === "true" || stringMember(members.get("weave") ?? "{}", "score") === "true";
  return isScore ? "scorer" : undefined;
}

const looksAt = new Set(
  "weave kind openinference openinference.span.kind operation gen_ai gen_ai.operation.name _weave_eval_meta".split(" "),
);
